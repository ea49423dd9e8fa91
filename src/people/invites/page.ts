import type { Context } from "hono";
import { html } from "hono/html";
import type * as z from "zod";
import type { App } from "../../env.ts";
import { ApiError, invalid, parseError } from "../../http/errors.ts";
import { htmlPage, router } from "../../http/router.ts";
import { dateAndTime } from "../../lib/dates.ts";
import { ownPages } from "../../outbound/console.ts";
import { multiLine, singleLine } from "../../outbound/mail.ts";
import { limitForm, pageHeaders, renderPage } from "../../outbound/page.ts";
import { accept } from "./accept.ts";
import { findInvitation, type Invitation, isTakeover, mustSignIn } from "./invitation.ts";
import { type Accepted, expiresAt, accept as form, isExpired, OF_LINK } from "./shape.ts";
import { introduce, roleOf } from "./wording.ts";

/** Shows a button that copies the key. Without JavaScript, it can still be selected. */
const SCRIPT = `
const [key, copy] = [document.querySelector('textarea'), document.querySelector('button')];
copy.hidden = !navigator.clipboard;
copy.addEventListener('click', async () => { await navigator.clipboard.writeText(key.value); copy.textContent = 'Copied'; });`;

/** The page that says why the invite no longer works, and whom to ask. */
const expiredPage = (c: Context<App>, { invite }: Invitation) =>
	renderPage(c, {
		status: 410,
		title: "This invite has expired",
		main: invite.inviter_may_invite
			? html`<p>Invites to ${singleLine(invite.organization_name)} work for three days. Please ask your admin for a new one.</p>`
			: html`<p>The person who invited you can no longer do so. Please ask for a new invite.</p>`,
	});

const TAKEOVER = html`<p class="warning"><strong>Accepting revokes API keys.</strong> A Tenantry user with this email address exists, but the address was never verified. Accepting the invite verifies it: you take over this user, all its API keys stop working, and you get a new one.</p>`;

/** The form that accepts the invite without a key. */
const acceptForm = (invitation: Invitation) => html`${isTakeover(invitation) && TAKEOVER}
<form method="post">
<label>First name <input name="first_name" maxlength="150" autocomplete="given-name" value="${invitation.invite.first_name}"></label>
<label>Last name <input name="last_name" maxlength="150" autocomplete="family-name"></label>
<button>Accept the invite</button>
</form>
<p class="note">If you already use Tenantry with this email address, your name doesn't change.</p>`;

/** Leads to the console. Browsers don't send the token, in the fragment, to servers. */
const signInFirst = (c: Context<App>) =>
	html`<p>To accept it, sign in first: a link in a mail is not enough to sign in with this email address.</p>
<p><a class="button" href="${ownPages.accept}#invite=${c.req.param("token")}">Sign in and accept</a></p>`;

function invitePage(c: Context<App>, invitation: Invitation) {
	const { invite } = invitation;
	if (isExpired(invite)) return expiredPage(c, invitation);
	const organization = singleLine(invite.organization_name);
	return renderPage(c, {
		title: `Join ${organization}`,
		main: html`<p>${introduce(invite.inviter)} invites ${invite.target_email} to join ${organization} on Tenantry as ${roleOf(invite.level)}.</p>
${invite.message && html`<blockquote>${multiLine(invite.message)}</blockquote>`}
<p class="note">The invite works once, until ${dateAndTime(expiresAt(invite))}.</p>
${mustSignIn(invitation) ? signInFirst(c) : acceptForm(invitation)}`,
	});
}

const OPEN_CONSOLE = html`<p><a class="button" href="${ownPages.overview}">Open the console</a></p>`;

const welcomePage = (
	c: Context<App>,
	{ organization, personal_api_key }: z.infer<typeof Accepted>,
) =>
	renderPage(c, {
		title: `Welcome to ${singleLine(organization.name)}`,
		...(personal_api_key
			? {
					script: SCRIPT,
					main: html`${OPEN_CONSOLE}
<p>For programs, this is your personal API key. It is shown <strong>only this once</strong>: copy it now and keep it secret.</p>
<label>Your key <textarea id="key" rows="2" readonly>${personal_api_key.value}</textarea></label>
<button hidden>Copy the key</button>
<p class="note">Send it with each request: <code>Authorization: Bearer &hellip;</code></p>`,
				}
			: {
					main: html`<p>You are now a member. Your API keys work here too.</p>
${OPEN_CONSOLE}`,
				}),
	});

const NAMES =
	"A name can have at most 150 characters, and no control characters. Go back and try again: the invite still works.";

const UNKNOWN =
	"The invite was already used, deleted or replaced by a newer one, or the link is incomplete. Please ask your admin for a new invite.";

/** Error codes of invites that no longer work: status 410. */
const GONE = ["expired", "inviter_lost_access"];

/** The page for an `ApiError`. Throws any other error again. */
function errorPage(c: Context<App>, error: unknown) {
	if (!(error instanceof ApiError)) throw error;
	const { status, body, headers, message } = error;
	for (const [name, value] of Object.entries(headers)) c.header(name, value);
	if (status === 404)
		return renderPage(c, {
			status,
			title: "This invite is unknown",
			main: html`<p>${UNKNOWN}</p>`,
		});
	return renderPage(c, {
		status: GONE.includes(body.code) ? 410 : status,
		title: "This invite can't be accepted",
		main: body.code === "sign_in_required" ? signInFirst(c) : html`<p>${message}</p>`,
	});
}

const limit = limitForm({
	onTooLarge: (c) =>
		renderPage(c, {
			status: 413,
			title: "The form is too large",
			main: html`<p>Go back and enter less text: the invite still works.</p>`,
		}),
	onIncomplete: (c) => errorPage(c, parseError("The form is incomplete.")),
});

/** The character that invalid UTF-8 is decoded to. */
const REPLACEMENT = "\ufffd";

const names = form.refine(
	({ first_name = "", last_name = "" }) => !`${first_name}${last_name}`.includes(REPLACEMENT),
);

/** The web page of an invite's link. Works without JavaScript. */
export default router(OF_LINK)
	.use(pageHeaders)
	.get(
		"/:token",
		htmlPage({
			id: "showInvitePage",
			summary: "Show an invite as a web page",
			description:
				"The page that the link in an invite's mail leads to, with a form to accept it. Changes nothing. An expired invite is a 410.",
		}),
		(c) =>
			findInvitation(c, c.req.param("token")).then(
				(invitation) => invitePage(c, invitation),
				(error) => errorPage(c, error),
			),
	)
	.post(
		"/:token",
		htmlPage({
			form,
			id: "acceptInviteOnPage",
			summary: "Accept an invite on its web page",
			description:
				"Sent by the form on the invite's page. Does the same as `acceptInvite` without a key. The response is a page that shows a new user their key, once. An invite that no longer works is a 410.",
		}),
		limit,
		async (c) => {
			const parsed = names.safeParse(await c.req.parseBody().catch(() => ({})));
			if (!parsed.success) return errorPage(c, invalid(null, NAMES));
			return accept(c, c.req.param("token"), parsed.data).then(
				(accepted) => welcomePage(c, accepted),
				(error) => errorPage(c, error),
			);
		},
	);
