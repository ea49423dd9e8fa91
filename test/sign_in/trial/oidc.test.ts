import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { v7 } from "uuid";
import { describe, expect, test } from "vitest";
import { users } from "../../../src/db/schema/people.ts";
import { identities } from "../../../src/db/schema/sign_in.ts";
import { db, join, world } from "../../support/world.ts";
import { begin, browser, type Home, signInAt, withProvider } from "../oidc/browser.ts";
import { entriesOf, identitiesOf, userWith } from "../oidc/support.ts";

/** Makes the owner's address one of the domain. */
async function ownAddress(home: Home) {
	const email = `owner@${home.domain}`;
	await db.update(users).set({ email }).where(eq(users.id, home.owner.id));
	return email;
}

const plan = ({ here, domain_id }: Home, options: { key?: string } = {}) =>
	here("POST", `/domains/${domain_id}/sign_in_test`, { body: { method: "oidc" }, ...options });

const result = ({ here, domain_id }: Home, token: string, key?: string) =>
	here("POST", `/domains/${domain_id}/sign_in_test/complete`, {
		body: { token },
		...(key && { key }),
	});

/** Runs a test as the owner, and returns the token of the result. */
async function run(home: Home, form: Record<string, string>) {
	const { body, status } = await plan(home);
	expect(status).toBe(201);
	const own = browser();
	const callback = await signInAt(
		await begin(home, own, { query: new URL(body.url).search }),
		form,
	);
	const { headers } = await own.open(callback);
	const [, token = ""] = /#tested=([\w-]{43})$/.exec(headers.get("location") ?? "") ?? [];
	expect(headers.get("location")).toBe(
		`/console/${home.id}/domains/${home.domain_id}#tested=${token}`,
	);
	return token;
}

describe("the test of a connection", () => {
	test("shows the claims and links the account of the admin, but signs nobody in", async () => {
		const home = await withProvider();
		const email = await ownAddress(home);
		const token = await run(home, { email });
		expect(await identitiesOf(home.owner)).toEqual([]);
		const { status, body } = await result(home, token);
		expect(status).toBe(200);
		expect(body).toMatchObject({ success: true, is_linked: true, claims: { email, sub: email } });
		expect(body.steps.map(({ error }: { error: string | null }) => error)).toEqual(
			Array.from(body.steps, () => null),
		);
		expect(await identitiesOf(home.owner)).toMatchObject([
			{ connection: `oidc:${home.domain_id}`, subject: email },
		]);
		expect(await entriesOf(home)).toMatchObject([{ scope: "Identity", activity: "created" }]);
		expect((await result(home, token)).body).toMatchObject({ success: true, is_linked: true });
	});

	test("with another address creates and links nothing", async () => {
		const home = await withProvider(env.PROVIDER_URL, { jit_provisioning_enabled: true });
		await ownAddress(home);
		const email = `eve@${home.domain}`;
		const { body } = await result(home, await run(home, { email }));
		expect(body).toMatchObject({ success: true, is_linked: false, claims: { email } });
		expect(await userWith(email)).toBeUndefined();
		expect(await identitiesOf(home.owner)).toEqual([]);
	});

	test("says which check failed", async () => {
		const home = await withProvider();
		const outside = { email: "ada@elsewhere.example.com" };
		const { body } = await result(home, await run(home, outside));
		expect(body).toMatchObject({ success: false, is_linked: false, claims: outside });
		expect(body.steps.at(-1)).toMatchObject({
			name: "wrong_domain",
			error: `ada@elsewhere.example.com isn't an address of ${home.domain}.`,
		});
		await home.set({ oidc_issuer: `${env.LIAR_URL}/broken` });
		const planned = await plan(home);
		const { hash } = await begin(home, browser(), { query: new URL(planned.body.url).search });
		const failed = await result(home, hash.replace("#tested=", ""));
		expect(failed.body).toMatchObject({ success: false, claims: null });
		expect(failed.body.steps.at(-1)).toMatchObject({ name: "invalid_response" });
	});

	test("shows what a provider said that sends no address", async () => {
		const home = await withProvider();
		const { body } = await result(home, await run(home, { email: "ada" }));
		expect(body.steps.at(-1)).toMatchObject({ name: "email_missing" });
		expect(body.claims).toMatchObject({ sub: "ada", email: "ada" });
	});

	test("is shown only to the admin who started it", async () => {
		const home = await withProvider();
		const email = await ownAddress(home);
		const token = await run(home, { email });
		const other = await join(home.id, 8);
		const { key } = other;
		expect(await result(home, token, key)).toMatchObject({
			status: 400,
			body: { code: "expired" },
		});
		const another = await withProvider();
		expect((await result({ ...home, domain_id: another.domain_id }, token)).status).toBe(404);
		const own = await home.here("POST", "/domains", {
			body: { domain: `${v7()}.example.com` },
		});
		const beside = { ...home, domain_id: own.body.id };
		expect((await result(beside, token)).body.code).toBe("expired");
		expect((await result(home, v7())).body.code).toBe("expired");
	});

	test("can be started once, and only for its own connection", async () => {
		const home = await withProvider();
		const other = await withProvider();
		const search = async () => new URL((await plan(home)).body.url).search;
		expect((await begin(other, browser(), { query: await search() })).hash).toBe(
			"#problem=expired",
		);
		const query = await search();
		expect((await begin(home, browser(), { query })).origin).toBe(env.PROVIDER_URL);
		expect((await begin(home, browser(), { query })).hash).toBe("#problem=expired");
	});

	test("is for admins of verified domains", async () => {
		const home = await withProvider(env.PROVIDER_URL, { verified_at: null });
		expect((await plan(home)).body.code).toBe("verification_required");
		const { key } = await join(home.id, 1);
		const { key: stranger } = await world();
		for (const each of [key, stranger]) expect((await plan(home, { key: each })).status).toBe(403);
	});

	test("links no account of somebody else, and no second one", async () => {
		const home = await withProvider();
		const email = await ownAddress(home);
		const { id: user_id } = await home.colleague();
		const failure = async (form: Record<string, string>) => {
			const { body } = await result(home, await run(home, form));
			return [body.success, body.is_linked, body.steps.at(-1).name];
		};
		const connection = `oidc:${home.domain_id}`;
		await db.insert(identities).values({ connection, subject: email, user_id, email });
		expect(await failure({ email })).toEqual([false, false, "linked_to_another"]);
		expect(await identitiesOf(home.owner)).toEqual([]);
		await db.delete(identities).where(eq(identities.user_id, user_id));
		await result(home, await run(home, { email }));
		const second = { email, claims: JSON.stringify({ sub: v7() }) };
		expect(await failure(second)).toEqual([false, false, "linked_to_another"]);
		expect(await identitiesOf(home.owner)).toHaveLength(1);
	});
});
