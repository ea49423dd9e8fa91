/** The links in the mails that people get. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { inject, vi } from "vitest";
import { HANG_MS } from "../../support/hang.ts";

/** The link that matches `pattern` in the newest mail to the address that has one. */
const linkIn = (email: string, pattern: RegExp, before = "") =>
	vi.waitFor(
		() => {
			const folder = `${inject("console").state}/mail`;
			const [link] = readdirSync(folder)
				.map((name) => `${folder}/${name}`)
				.sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs)
				.map((path) => readFileSync(path, "utf8"))
				.filter((mail) => mail.includes(`To: ${email}`))
				.flatMap((mail) => pattern.exec(mail)?.[0] ?? []);
			if (!link || link === before) throw new Error(`There is no new mail to ${email}.`);
			return link;
		},
		{ timeout: HANG_MS, interval: 100 },
	);

/**
 * The link to sign in of the newest mail to the address.
 * @param before the link of the mail before it
 */
export const linkTo = (email: string, before = "") =>
	linkIn(email, /http\S+\/console\/sign_in#token=[\w-]{43}/, before);

/**
 * The link of the newest invite to the address.
 * @param before the link of the invite before it
 */
export const inviteTo = (email: string, before = "") =>
	linkIn(email, /http\S+\/invites\/[\w-]{43}/, before);

/** The link of the mail that asks the address to set up a second factor. */
export const factorLinkTo = (email: string) => linkIn(email, /http\S+\/console\/account/);
