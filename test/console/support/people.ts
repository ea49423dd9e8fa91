/** The mails that people get who sign in to the console. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { inject, vi } from "vitest";
import { HANG_MS } from "../../support/hang.ts";

/**
 * The link to sign in of the newest mail to the address.
 * @param before the link of the mail before it
 */
export const linkTo = (email: string, before = "") =>
	vi.waitFor(
		() => {
			const folder = `${inject("console").state}/mail`;
			const mails = readdirSync(folder)
				.map((name) => `${folder}/${name}`)
				.sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs)
				.map((path) => readFileSync(path, "utf8"));
			const mail = mails.find((mail) => mail.includes(`sign in to Tenantry as ${email}`));
			const link = /http\S+\/console\/sign_in#token=[\w-]{43}/.exec(mail ?? "")?.[0];
			if (!link || link === before) throw new Error(`There is no new mail to ${email}.`);
			return link;
		},
		{ timeout: HANG_MS, interval: 100 },
	);
