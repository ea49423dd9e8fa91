import type { Context, MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { html, raw } from "hono/html";
import { NONCE, secureHeaders } from "hono/secure-headers";
import type { HtmlEscapedString } from "hono/utils/html";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { App } from "../env.ts";
import { NO_DETECTION } from "./mail.ts";

/* The web pages that links in mails lead to. They work without JavaScript. */

type Html = HtmlEscapedString | Promise<HtmlEscapedString>;

const STYLE = `
:root { color-scheme: light dark; --ink: #1a1d23; --soft: #5b6472; --paper: #fff; --ground: #f1f3f6; --line: #d5dae1; --accent: #1f5fd6; --warning: #b54708; }
@media (prefers-color-scheme: dark) { :root { --ink: #eceff4; --soft: #a3adbb; --paper: #1b1f27; --ground: #101318; --line: #353c48; --accent: #8ab4ff; --warning: #f5b14c; } }
* { box-sizing: border-box; }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 1rem; background: var(--ground); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; }
main { width: 100%; max-width: 30rem; padding: 2rem; background: var(--paper); border: 1px solid var(--line); border-radius: .75rem; }
h1 { margin: 0 0 .75rem; font-size: 1.5rem; line-height: 1.25; overflow-wrap: anywhere; }
p { margin: 0 0 1rem; overflow-wrap: anywhere; }
label { display: block; margin-bottom: 1rem; font-size: .875rem; color: var(--soft); }
input, textarea { display: block; width: 100%; margin-top: .25rem; padding: .625rem .75rem; font: inherit; color: var(--ink); background: var(--ground); border: 1px solid var(--line); border-radius: .375rem; }
textarea { font-family: ui-monospace, monospace; resize: none; overflow-wrap: anywhere; }
button, .button { padding: .625rem 1.25rem; font: inherit; font-weight: 600; color: var(--paper); background: var(--accent); border: 0; border-radius: .375rem; cursor: pointer; }
.button { display: inline-block; text-decoration: none; }
button[hidden] { display: none; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
blockquote { margin: 0 0 1rem; padding: 0 0 0 1rem; border-left: 3px solid var(--line); white-space: pre-line; overflow-wrap: anywhere; }
.warning { padding: .75rem 1rem; border: 1px solid var(--warning); border-left-width: .375rem; border-radius: .375rem; }
.note { color: var(--soft); font-size: .875rem; }
.note:last-child { margin: 1rem 0 0; }`;

const CSP = {
	defaultSrc: ["'none'"],
	styleSrc: [NONCE],
	scriptSrc: [NONCE],
	formAction: ["'self'"],
	frameAncestors: ["'none'"],
	baseUri: ["'none'"],
};

/** The headers of these pages. */
export const pageHeaders = secureHeaders({ contentSecurityPolicy: CSP });

type Page = {
	status?: ContentfulStatusCode;
	title: string;
	/** What follows the title. */
	main: Html;
	script?: string;
};

/** Responds with a page, which nobody stores. */
export function renderPage(c: Context<App>, { status = 200, title, main, script = "" }: Page) {
	const nonce = c.get("secureHeadersNonce");
	c.header("Cache-Control", "no-store");
	return c.html(
		html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
${NO_DETECTION}
<title>${title} &middot; Tenantry</title>
<style nonce="${nonce}">${raw(STYLE)}</style>
</head>
<body><main><h1>${title}</h1>${main}</main>${script && html`<script nonce="${nonce}">${raw(script)}</script>`}</body>
</html>`,
		status,
	);
}

/** Limits the size of a form. A client that disconnects causes a 400, not a server error. */
export function limitForm({
	onTooLarge,
	onIncomplete,
}: Record<
	"onTooLarge" | "onIncomplete",
	(c: Context<App>) => Response | Promise<Response>
>): MiddlewareHandler<App> {
	const limit = bodyLimit({ maxSize: 2 ** 16, onError: onTooLarge });
	return (c, next) => limit(c, next).catch(() => onIncomplete(c));
}
