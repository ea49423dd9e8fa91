import { dateAndTime } from "../../lib/dates.ts";
import { DAY_MS } from "../../lib/time.ts";
import { greeting, linkTo, send, trusted, unlinked } from "../../outbound/mail.ts";

type Link = { email: string; first_name: string; token: string };

/** Mails owners the links that restore their organization, each its own. */
export async function mailLinks(
	env: Env,
	{ name, at, links }: { name: string; at: string; links: Link[] },
) {
	const until = new Date(Date.parse(at) + Number(env.DELETED_OBJECT_DAYS) * DAY_MS);
	for (const { email, first_name, token } of links)
		await send(env, {
			to: email,
			subject: unlinked`The organization ${name} was deleted on Tenantry`,
			paragraphs: [
				greeting(first_name),
				unlinked`An owner has deleted the organization "${name}" on ${trusted(dateAndTime(new Date(at)))}, with its projects, exports, plugins, webhooks and domains. Nobody can access it any more, and its exports have stopped.`,
				unlinked`Until ${trusted(dateAndTime(until))}, the link restores it with all that it had. Then it is removed for good. If you expected this, you don't have to do anything.`,
			],
			link: {
				label: "Restore the organization",
				url: linkTo(env.APP_URL, `/restorations/${token}`),
			},
		});
}
