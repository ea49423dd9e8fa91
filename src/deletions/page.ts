import type { Context } from "hono";
import { html } from "hono/html";
import * as z from "zod";
import type { App } from "../env.ts";
import { ApiError, parseError } from "../http/errors.ts";
import { htmlPage, router } from "../http/router.ts";
import { dateAndTime } from "../lib/dates.ts";
import { DAY_MS } from "../lib/time.ts";
import { consoleOf } from "../outbound/console.ts";
import { singleLine } from "../outbound/mail.ts";
import { limitForm, pageHeaders, renderPage } from "../outbound/page.ts";
import { findRestoration, restoreOrganization } from "./organization.ts";

const UNKNOWN =
	"It was already used, another owner has restored the organization, it was removed for good, your account was deleted or deactivated, or the link is incomplete.";

/** The form that restores the organization, and what stands in its way. */
const form = (obstacles: string[]) => html`${
	obstacles.length > 0 &&
	html`<div class="warning"><strong>Not all of it can be restored.</strong>
<ul>${obstacles.map((obstacle) => html`<li>${singleLine(obstacle)}</li>`)}</ul></div>`
}
<form method="post">
${obstacles.length > 0 && html`<input type="hidden" name="partial" value="true">`}
<button>${obstacles.length > 0 ? "Restore the rest" : "Restore the organization"}</button>
</form>`;

/** Shows what the link is for. */
async function show(c: Context<App>) {
	const { deletion, obstacles } = await findRestoration(c, c.req.param("token") ?? "");
	const deleted = new Date(deletion.deleted_at);
	const until = new Date(deleted.getTime() + Number(c.env.DELETED_OBJECT_DAYS) * DAY_MS);
	return renderPage(c, {
		title: `Restore ${singleLine(deletion.name)}`,
		main: html`<p>This organization was deleted on ${dateAndTime(deleted)}. It can be restored until ${dateAndTime(until)}, with its members, projects, domains, plugins and exports. Exports go on from now.</p>
${form(obstacles)}`,
	});
}

const fields = z.object({
	partial: z
		.literal("true")
		.optional()
		.describe("Restores the organization without what stands in the way."),
});

async function restore(c: Context<App>) {
	const sent = fields.safeParse(await c.req.parseBody().catch(() => ({})));
	const partial = sent.data?.partial === "true";
	const { id, name, hasGaps } = await restoreOrganization(c, c.req.param("token") ?? "", partial);
	return renderPage(c, {
		title: `${singleLine(name)} is restored`,
		main: html`${hasGaps && html`<p>Its exports show which windows have passed, and aren't exported.</p>`}
<p><a class="button" href="${consoleOf(id).overview}">Open the console</a></p>`,
	});
}

/** The page for an `ApiError`. Throws any other error again. */
function errorPage(c: Context<App>, error: unknown) {
	if (!(error instanceof ApiError)) throw error;
	const { status, headers, message } = error;
	for (const [name, value] of Object.entries(headers)) c.header(name, value);
	if (status === 404)
		return renderPage(c, {
			status,
			title: "This link doesn't work any more",
			main: html`<p>${UNKNOWN}</p>`,
		});
	return renderPage(c, {
		status,
		title: "The organization can't be restored",
		main: html`<p>${singleLine(message)}</p>${
			status === 409 && html`<p>Open the link again to see what can be restored.</p>`
		}`,
	});
}

const limit = limitForm({
	onTooLarge: (c) =>
		renderPage(c, {
			status: 413,
			title: "The form is too large",
			main: html`<p>Open the link again.</p>`,
		}),
	onIncomplete: (c) => errorPage(c, parseError("The form is incomplete.")),
});

/** The web page of the link that restores an organization. Works without JavaScript. */
export default router({
	name: "Restoring an organization",
	description:
		"For the holder of a link that was mailed to the organization's owners, without a key.",
	parameters: { token: z.string().min(1).describe("The secret part of the link.") },
})
	.use(pageHeaders)
	.get(
		"/:token",
		htmlPage({
			id: "showRestorationPage",
			summary: "Show the restoration of an organization as a web page",
			description:
				"The page that the link in the mail about a deleted organization leads to, with a button that restores it. Changes nothing.",
		}),
		(c) => show(c).catch((error: unknown) => errorPage(c, error)),
	)
	.post(
		"/:token",
		htmlPage({
			form: fields,
			id: "restoreOrganizationOnPage",
			summary: "Restore an organization on its web page",
			description:
				"Sent by the button of that page. Works once. 409 if another organization has its slug or one of its domains now, or if plugins of others that it uses were deleted: the page then offers to restore the rest.",
		}),
		limit,
		(c) => restore(c).catch((error: unknown) => errorPage(c, error)),
	);
