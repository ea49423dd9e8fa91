import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { organizations } from "../../../src/db/schema/organizations.ts";
import { members, users } from "../../../src/db/schema/people.ts";
import { identities } from "../../../src/db/schema/sign_in.ts";
import { outbox } from "../../support/mail.ts";
import { eventually, exhaust } from "../../support/time.ts";
import { codeOf } from "../../support/totp.ts";
import { call, db, keyFor, racing, world } from "../../support/world.ts";
import { complete, enforce, linksOf, rejected, withFactor } from "../link/support.ts";
import {
	entriesOf,
	finish,
	identitiesOf,
	outcomeOf,
	userWith,
	type WithDomain,
	who,
	withDomain,
} from "./support.ts";

const token = expect.stringMatching(/^[\w-]{43}$/);

const problem = (code: string) => expect.objectContaining({ problem: code });

/** Expects that a sign-in failed, and that all it wrote is an entry. */
async function expectNothing(home: WithDomain, email: string, code: string) {
	const user = await userWith(email);
	expect(user ? await linksOf(user) : []).toEqual([]);
	expect(await identitiesOf(user)).toEqual([]);
	expect(await entriesOf(home)).toEqual([
		expect.objectContaining({
			scope: "SignIn",
			activity: "failed",
			user: null,
			detail: expect.objectContaining({
				name: email,
				trigger: expect.objectContaining({ code, job: "sign_in" }),
			}),
		}),
	]);
}

describe("the first sign-in", () => {
	test("links the account with the address, whose domain is verified", async () => {
		const home = await withDomain();
		const user = await home.colleague();
		const ada = who(home);
		const first = await finish(home, ada);
		expect(first).toMatchObject({ token });
		expect(await identitiesOf(user)).toMatchObject([
			{ connection: ada.connection, subject: ada.subject, email: ada.email },
		]);
		expect((await userWith(ada.email))?.has_social_auth).toBe(true);
		expect(await entriesOf(home)).toMatchObject([
			{ scope: "Identity", activity: "created", user: { email: ada.email } },
		]);
		const signedIn = await complete({ token: "token" in first ? String(first.token) : "" });
		expect(signedIn).toMatchObject({ status: 200, body: { user: { uuid: user.uuid } } });
	});

	test("makes a member at the level of the domain, with just-in-time provisioning", async () => {
		const home = await withDomain({ jit_provisioning_enabled: true, jit_provisioning_level: 1 });
		const ada = who(home);
		expect(await finish(home, ada)).toMatchObject({ token });
		const user = await userWith(ada.email);
		expect(user).toMatchObject({
			first_name: "Ada",
			last_name: "Lovelace",
			is_email_verified: true,
			has_social_auth: true,
			current_organization_id: home.organization_id,
		});
		const rows = await db
			.select()
			.from(members)
			.where(eq(members.user_id, user?.id ?? 0));
		expect(rows).toMatchObject([{ organization_id: home.organization_id, level: 1 }]);
		expect(await entriesOf(home)).toMatchObject(
			["Identity", "Member", "User"].map((scope) => ({
				...{ scope, activity: "created", user: { email: ada.email } },
			})),
		);
	});

	test("makes one account if it happens ten times at once", async () => {
		const home = await withDomain({ jit_provisioning_enabled: true });
		const ada = who(home);
		const all = await Promise.all(Array.from({ length: 10 }, () => finish(home, ada)));
		for (const each of all) expect(each).toMatchObject({ token });
		const user = await userWith(ada.email);
		expect(await identitiesOf(user)).toHaveLength(1);
		expect(await linksOf({ id: user?.id ?? 0 })).toHaveLength(10);
		expect(await entriesOf(home)).toHaveLength(3);
	});

	test("says before that it revokes keys from before, and names them in a mail", async () => {
		const home = await withDomain();
		const user = await home.colleague();
		await db.update(users).set({ is_email_verified: false }).where(eq(users.id, user.id));
		await keyFor(user.id, { label: "From an invite" });
		const first = await finish(home, who(home));
		const link = "token" in first ? String(first.token) : "";
		const preview = async () =>
			(await call("POST", "/api/sign_in/preview", { body: { token: link } })).body.loses_keys;
		expect(await preview()).toBe(true);
		const mails = outbox();
		expect((await complete({ token: link }, { env: mails.env })).status).toBe(200);
		await eventually(async () =>
			expect(mails.sent).toMatchObject([
				{
					to: user.email,
					subject: "API keys of your Tenantry account were revoked",
					text: expect.stringContaining("From an invite"),
				},
			]),
		);
	});

	test("creates nobody without just-in-time provisioning", async () => {
		const home = await withDomain();
		expect(await finish(home, who(home))).toEqual(problem("no_account"));
		await expectNothing(home, `ada@${home.domain}`, "no_account");
	});

	test.each([
		["stops adding people", { jit_provisioning_enabled: false }, "no_account"],
		["isn't verified any more", { verified_at: null }, "domain_not_verified"],
	])("creates nobody if the domain %s meanwhile", async (_, columns, code) => {
		const home = await withDomain({ jit_provisioning_enabled: true });
		const env = racing(() => home.set(columns), { at: 3 });
		expect(await finish(home, who(home), { env })).toEqual(problem(code));
		await expectNothing(home, `ada@${home.domain}`, code);
	});

	test("creates nobody while the organization is moving", async () => {
		const home = await withDomain({ jit_provisioning_enabled: true });
		const moves = (moving: { since: string } | null) =>
			db.update(organizations).set({ moving }).where(eq(organizations.uuid, home.id));
		await moves({ since: "2026-01-01" });
		expect(await finish(home, who(home))).toEqual(problem("no_account"));
		await expectNothing(home, `ada@${home.domain}`, "no_account");
		await moves(null);
		expect(await finish(home, who(home))).toMatchObject({ token });
	});

	test("isn't logged if too many have failed from its network", async () => {
		const home = await withDomain();
		const ada = who(home);
		const address = "198.51.100.91";
		await exhaust(env.SIGN_INS, `${ada.connection} from ${address}`);
		expect(await finish(home, ada, { address })).toEqual(problem("no_account"));
		expect(await entriesOf(home)).toEqual([]);
	});

	test("doesn't link an account to a second account at the provider, such as that of a namesake", async () => {
		const home = await withDomain();
		const user = await home.colleague();
		await finish(home, who(home));
		expect(await finish(home, who(home))).toEqual(problem("linked_to_another"));
		expect(await identitiesOf(user)).toHaveLength(1);
	});

	test("of an address outside the domain is rejected, although an account has it", async () => {
		const home = await withDomain({ jit_provisioning_enabled: true });
		const other = await withDomain();
		const { email } = await other.colleague();
		for (const address of [email, `ada@sub.${home.domain}`, `x@${home.domain}@${other.domain}`])
			expect(await finish(home, who(home, { email: address }))).toEqual(problem("wrong_domain"));
		expect(await entriesOf(home)).toHaveLength(3);
		expect(await identitiesOf(await userWith(email))).toEqual([]);
	});

	test.each([
		["while the domain isn't verified", { verified_at: null }, {}, "domain_not_verified"],
		["with an unverified address", {}, { is_email_verified: false }, "email_not_verified"],
	])("is rejected %s", async (_, columns, said, code) => {
		const home = await withDomain(columns);
		const { email } = await home.colleague();
		expect(await finish(home, who(home, said))).toEqual(problem(code));
		await expectNothing(home, email, code);
	});

	test.each([
		["a deactivated user", { is_active: false }],
		["a service account", { is_service_account: true }],
	])("of %s is rejected", async (_, columns) => {
		const home = await withDomain();
		const user = await home.colleague();
		await db.update(users).set(columns).where(eq(users.id, user.id));
		expect(await finish(home, who(home))).toEqual(problem("account_deactivated"));
		await expectNothing(home, user.email, "account_deactivated");
	});
});

describe("a provider of the operator", () => {
	const google = (home: WithDomain, more = {}) =>
		who(home, { connection: "google-oauth2", domain_id: null, ...more });

	test("signs in the people of a domain that enforces it", async () => {
		const home = await withDomain({ sso_enforcement: "google-oauth2" });
		const user = await home.colleague();
		expect(await finish(home, google(home))).toMatchObject({ token });
		expect(await identitiesOf(user)).toHaveLength(1);
	});

	test.each([
		["whose domain isn't verified", { verified_at: null }],
		["who have not linked it", { sso_enforcement: "github" }],
	])("doesn't sign in people %s", async (_, columns) => {
		const home = await withDomain({ jit_provisioning_enabled: true, ...columns });
		const user = await home.colleague();
		expect(await finish(home, google(home))).toEqual(problem("account_not_linked"));
		expect(await identitiesOf(user)).toEqual([]);
		const nobody = google(home, { email: `bob@${home.domain}` });
		expect(await finish(home, nobody)).toEqual(problem("no_account"));
	});
});

describe("later sign-ins", () => {
	test("find the user by the provider's id, whatever the address is", async () => {
		const home = await withDomain();
		const user = await home.colleague();
		const ada = who(home);
		await finish(home, ada);
		expect(await finish(home, { ...ada, email: `countess@${home.domain}` })).toMatchObject({
			token,
		});
		expect(await linksOf(user)).toHaveLength(2);
		expect(await identitiesOf(user)).toMatchObject([{ email: ada.email }]);
	});

	type Linked = { home: WithDomain; user: { id: number } };
	const unverify = ({ home }: Linked) => home.set({ verified_at: null });
	const deactivate = ({ user }: Linked) =>
		db.update(users).set({ is_active: false }).where(eq(users.id, user.id));

	test.each([
		["the domain loses its verification meanwhile", unverify, 3, "domain_not_verified"],
		["the user is deactivated meanwhile", deactivate, 3, "account_deactivated"],
		["the user was deactivated", deactivate, 1, "account_deactivated"],
	])("are rejected when %s", async (_, change, at, code) => {
		const home = await withDomain();
		const user = await home.colleague();
		const ada = who(home);
		await finish(home, ada);
		const env = racing(async () => change({ home, user }), { at });
		expect(await finish(home, ada, { env })).toEqual(problem(code));
		expect(await linksOf(user)).toHaveLength(1);
	});
});

describe("a subject", () => {
	const FORMAT = "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress";
	const PERSISTENT = "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent";

	/** Signs in twice, the second time with another address, so that only the subject tells who it is. */
	async function twice(sso: "saml" | "oidc", before: string, after: string) {
		const home = await withDomain();
		const user = await home.colleague();
		const ada = who(home, { connection: `${sso}:${home.domain_id}`, subject: before });
		await finish(home, ada);
		const again = { ...ada, subject: after, email: `countess@${home.domain}` };
		const result = await finish(home, again);
		const links = await identitiesOf(user);
		return { result, used: links.map(({ last_used_at }) => last_used_at !== null) };
	}

	test.each<["saml" | "oidc", string, string]>([
		["saml", `${FORMAT} Ada@Example.com`, `${FORMAT} ada@example.com`],
		["saml", `${FORMAT} ada@example.com`, `${FORMAT} ADA@example.COM`],
		["saml", `${FORMAT} Ada@example.com`, `${FORMAT} adA@example.com`],
	])("of %s is the same without regard to case: %s and %s", async (...pair) => {
		expect(await twice(...pair)).toMatchObject({ result: { token }, used: [true] });
	});

	test.each<["saml" | "oidc", string, string]>([
		["saml", `${PERSISTENT} Ada`, `${PERSISTENT} ada`],
		["saml", `${FORMAT} ada@example.com`, `${PERSISTENT} ada@example.com`],
		["saml", `${FORMAT} \u212aa@example.com`, `${FORMAT} ka@example.com`],
		["oidc", "Ada@example.com", "ada@example.com"],
		["oidc", `${FORMAT} Ada`, `${FORMAT} ada`],
	])("of %s is another one: %s and %s", async (...pair) => {
		expect(await twice(...pair)).toMatchObject({ result: { problem: "no_account" } });
	});

	test("is first the one in the same case, if two accounts were linked before", async () => {
		const home = await withDomain();
		const [ada, bob] = [await home.colleague("ada"), await home.colleague("bob")];
		const connection = `saml:${home.domain_id}`;
		const row = { connection, email: "" };
		await db.insert(identities).values([
			{ ...row, subject: `${FORMAT} A@example.com`, user_id: ada.id },
			{ ...row, subject: `${FORMAT} a@example.com`, user_id: bob.id },
		]);
		for (const [subject, user] of [
			["A@example.com", ada],
			["a@example.com", bob],
		] as const) {
			await finish(home, who(home, { connection, subject: `${FORMAT} ${subject}` }));
			expect(await linksOf(user)).toHaveLength(1);
		}
	});

	test("that is an address is linked once, in whatever case parallel sign-ins have it", async () => {
		const home = await withDomain({ jit_provisioning_enabled: true });
		const ada = who(home, { connection: `saml:${home.domain_id}` });
		const all = await Promise.all(
			["Ada@x", "ada@x", "ADA@x", "adA@x"].map((name) =>
				finish(home, { ...ada, subject: `${FORMAT} ${name}` }),
			),
		);
		for (const each of all) expect(each).toMatchObject({ token });
		expect(await identitiesOf(await userWith(ada.email))).toHaveLength(1);
	});
});

describe("a sign-in", () => {
	test("can't be finished in another browser", async () => {
		const home = await withDomain();
		await home.colleague();
		const ada = await finish(home, who(home), { cookie: "x".repeat(43) });
		expect(ada).toEqual(problem("expired"));
		expect(outcomeOf(await call("GET", "/sso/finish"))).toEqual({ problem: "expired" });
	});

	test("can be finished once", async () => {
		const home = await withDomain();
		await home.colleague();
		const ada = await finish(home, who(home));
		expect(ada).toMatchObject({ token });
		expect(await ada.again()).toEqual({ problem: "expired" });
	});
});

/** Signs in, and sends the code. */
async function enter(home: WithDomain, person: ReturnType<typeof who>, code?: string) {
	const result = await finish(home, person);
	expect(result).toMatchObject({ token });
	return complete({ token: "token" in result ? String(result.token) : "", ...(code && { code }) });
}

describe("enforced single sign-on", () => {
	test("lets the links of its own connection through, and no others", async () => {
		const home = await withDomain();
		const { email } = await home.colleague();
		const ada = who(home);
		const saml = who(home, { connection: `saml:${home.domain_id}` });
		const github = who(home, { connection: "github", domain_id: null });
		await home.set({ sso_enforcement: "github" });
		expect(await enter(home, github)).toMatchObject({ status: 200, body: { user: { email } } });
		await home.set({ sso_enforcement: "oidc" });
		expect(await enter(home, ada)).toMatchObject({ status: 200, body: { user: { email } } });
		for (const other of [saml, github])
			expect(await enter(home, other)).toMatchObject(rejected("sso_required"));
	});
});

describe("a second factor", () => {
	const inDomain = async (home: WithDomain) => {
		const user = await withFactor();
		const email = `ada@${home.domain}`;
		await db.update(users).set({ email }).where(eq(users.id, user.id));
		return { ...user, email };
	};

	test("is ours, unless the provider says that it has checked one", async () => {
		const home = await withDomain();
		const user = await inDomain(home);
		const ada = who(home);
		expect(await enter(home, ada)).toMatchObject(rejected("two_factor_required", "code"));
		expect(await enter(home, ada, await codeOf(user.secret))).toMatchObject({ status: 200 });
		expect(await enter(home, { ...ada, has_factor: true })).toMatchObject({ status: 200 });
	});

	test("of the provider is enough if the organization of its domain requires one", async () => {
		const home = await withDomain({ jit_provisioning_enabled: true });
		await enforce(home);
		const ada = who(home);
		expect(await enter(home, ada)).toMatchObject(rejected("two_factor_setup_required", "code"));
		expect(await enter(home, { ...ada, has_factor: true })).toMatchObject({ status: 200 });
	});

	test("of the provider doesn't open the other organizations of the user", async () => {
		const home = await withDomain();
		const [user, without] = [await inDomain(home), await home.colleague("bob")];
		const other = await world();
		const add = ({ id: user_id }: { id: number }) =>
			db.insert(members).values({ organization_id: other.organization_id, user_id, level: 1 });
		await add(user);
		const ada = who(home, { has_factor: true });
		expect(await enter(home, ada)).toMatchObject(rejected("two_factor_required", "code"));
		await enforce(other);
		const bob = who(home, { has_factor: true, email: without.email });
		expect(await enter(home, bob)).toMatchObject({ status: 200 });
		await add(without);
		expect(await enter(home, bob)).toMatchObject(rejected("two_factor_setup_required", "code"));
	});
});

test("a link can't be used after its identity was removed", async () => {
	const home = await withDomain();
	await home.colleague();
	const result = await finish(home, who(home));
	await db.run("delete from identities");
	const signedIn = await complete({ token: "token" in result ? String(result.token) : "" });
	expect(signedIn).toMatchObject(rejected("expired", "token"));
});
