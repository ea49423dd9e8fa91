/** People who sign in to the console, and the mails that they get. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { Tenantry } from "tenantry-client";
import { inject, vi } from "vitest";
import { HANG_MS } from "../../support/hang.ts";
import { clientOf } from "./browser.ts";

let people = 0;

/** A new member of the organization. */
export async function newPerson(organization: string) {
	people += 1;
	const target_email = `person-${Date.now()}-${people}@example.com`;
	const { accept_url } = await clientOf().invites.create(
		{ organization },
		{ target_email, send_email: false },
	);
	const token = accept_url?.split("/").at(-1) ?? "";
	const { personal_api_key } = await new Tenantry({
		baseUrl: inject("console").url,
		key: undefined,
	}).invites.accept({ token }, { first_name: "Grace" });
	return { email: target_email, key: personal_api_key?.value ?? "" };
}

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
				.map((path) => readFileSync(path, "utf8"))
				.map((mail) => mail.replace(/=\r?\n/g, "").replace(/=3D/g, "="));
			const mail = mails.find((mail) => mail.includes(`To: ${email}`));
			const link = /http\S+\/console\/sign_in#token=[\w-]{43}/.exec(mail ?? "")?.[0];
			if (!link || link === before) throw new Error(`There is no new mail to ${email}.`);
			return link;
		},
		{ timeout: HANG_MS, interval: 100 },
	);
