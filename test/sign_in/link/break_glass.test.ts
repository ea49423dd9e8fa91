import { eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { domains } from "../../../src/db/schema/organizations.ts";
import { members, users } from "../../../src/db/schema/people.ts";
import { signIns, twoFactors } from "../../../src/db/schema/sign_in.ts";
import { digest } from "../../../src/keys/keys.ts";
import {
	domainName,
	insertDomain,
	link,
	moveTo,
	SAML,
	verified_at,
} from "../../support/domains.ts";
import { outbox } from "../../support/mail.ts";
import { codeOf } from "../../support/totp.ts";
import { db, world } from "../../support/world.ts";
import { ask, complete, linkFor, rejected, setUp, tokenIn, verify, withFactor } from "./support.ts";

/** A domain that enforces SAML, with a member who may sign in without it. */
async function home() {
	const tenant = await world();
	await verify(tenant.owner);
	const domain = domainName();
	const saved = await withFactor();
	const email = await moveTo(saved, domain);
	await db.insert(members).values({
		organization_id: tenant.organization_id,
		user_id: saved.id,
		level: 1,
	});
	const domain_id = await insertDomain(tenant.id, {
		...SAML,
		domain,
		verified_at,
		sso_enforcement: "saml",
		break_glass: [saved.id],
	});
	const name = (break_glass: number[]) =>
		db.update(domains).set({ break_glass }).where(eq(domains.id, domain_id));
	const uses = async () => (await tenant.here("GET", "/activity_log?scope=SignIn")).body.results;
	return { ...tenant, domain, domain_id, saved: { ...saved, email }, name, uses };
}

test("a named member signs in by mail and second factor, and the owners learn about it", async () => {
	const { saved, owner, uses } = await home();
	const token = await linkFor(saved);
	expect(await complete({ token })).toMatchObject(rejected("two_factor_required", "code"));
	expect(await uses()).toEqual([]);
	const mails = outbox();
	const signedIn = await complete(
		{ token, code: await codeOf(saved.secret) },
		{ env: mails.env, headers: { "cf-connecting-ip": "203.0.113.7" } },
	);
	expect(signedIn).toMatchObject({ status: 200, body: { user: { email: saved.email } } });
	expect(await uses()).toMatchObject([
		{
			activity: "break_glass_used",
			user: { uuid: saved.uuid },
			item_id: saved.uuid,
			detail: { name: saved.email },
		},
	]);
	const [mail, ...others] = mails.take();
	expect(others).toEqual([]);
	expect(mail).toMatchObject({
		to: owner.email,
		subject: "Someone signed in to Tenantry without single sign-on",
	});
	expect(mail?.text).toContain(`${saved.email} signed in by mail and second factor`);
	expect(mail?.text).toContain("from the IP address 203.0.113.7");
});

test("a named member signs in with a passkey, and the owners learn how", async () => {
	const { saved } = await home();
	const token = await linkFor(saved);
	await db
		.update(signIns)
		.set({ method: "passkey", has_factor: true })
		.where(eq(signIns.token_hash, await digest(token)));
	const mails = outbox();
	expect((await complete({ token }, { env: mails.env })).status).toBe(200);
	expect(mails.take()[0]?.text).toContain(`${saved.email} signed in with a passkey`);
});

test("nobody else of the domain signs in by mail, with a second factor or without", async () => {
	const { saved, domain } = await home();
	const other = await withFactor();
	const email = await moveTo(other, domain);
	const { mails } = await ask(email);
	expect(mails).toHaveLength(1);
	expect(tokenIn(mails[0]?.text)).toBe("");
	expect(saved.email).not.toBe(email);
});

test("a named member who lost the second factor gets no link, and can't set one up with an old link", async () => {
	const { saved } = await home();
	const token = await linkFor(saved);
	await db.delete(twoFactors).where(eq(twoFactors.user_id, saved.id));
	await db.update(users).set({ is_2fa_enabled: false }).where(eq(users.id, saved.id));
	expect(await complete({ token })).toMatchObject(rejected("sso_required"));
	expect(await setUp({ token })).toMatchObject(rejected("sso_required"));
	const { mails } = await ask(saved.email);
	expect(tokenIn(mails[0]?.text)).toBe("");
});

test("a link from before doesn't work once the member isn't named any more", async () => {
	const { saved, name, uses } = await home();
	const token = await linkFor(saved);
	await name([]);
	const code = await codeOf(saved.secret);
	expect(await complete({ token, code })).toMatchObject(rejected("sso_required"));
	expect(await uses()).toEqual([]);
});

test("a named member still can't sign in through another provider than the one that is enforced", async () => {
	const { saved } = await home();
	const token = await linkFor(saved);
	await link(saved.id, "google-oauth2", saved.email);
	await db
		.update(signIns)
		.set({ method: "google-oauth2", connection: "google-oauth2" })
		.where(eq(signIns.token_hash, await digest(token)));
	const code = await codeOf(saved.secret);
	expect(await complete({ token, code })).toMatchObject(rejected("sso_required"));
});

test("signing in by mail is no event where single sign-on isn't enforced", async () => {
	const { saved, domain_id, uses } = await home();
	await db.update(domains).set({ sso_enforcement: "" }).where(eq(domains.id, domain_id));
	const mails = outbox();
	const token = await linkFor(saved);
	const code = await codeOf(saved.secret);
	expect((await complete({ token, code }, { env: mails.env })).status).toBe(200);
	expect(await uses()).toEqual([]);
	expect(mails.take()).toEqual([]);
});
