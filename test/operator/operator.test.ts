import { exports } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { expect, test, vi } from "vitest";
import { organizationId, organizations } from "../../src/db/schema/organizations.ts";
import { members, users } from "../../src/db/schema/people.ts";
import { personalApiKeys } from "../../src/db/schema/personal_api_keys.ts";
import { identities } from "../../src/db/schema/sign_in.ts";
import { mask } from "../../src/keys/keys.ts";
import { Operator } from "../../src/operator/entrypoint.ts";
import { verify } from "../sign_in/link/support.ts";
import { finish, who, withDomain } from "../sign_in/oidc/support.ts";
import { stopClock } from "../support/time.ts";
import { codeOf } from "../support/totp.ts";
import { call, db, join, keyFor, world } from "../support/world.ts";

/** The outcome of a command that runs through the entrypoint. */
const operate = async (command: string, options: object = {}) =>
	JSON.parse(await exports.Operator.run(command, JSON.stringify(options)));

type Home = Awaited<ReturnType<typeof world>>;

/** The newest entries of an organization's activity log. */
const log = async ({ here }: Home) => (await here("GET", "/activity_log/")).body.results;

const byOperator = { user: null, detail: { trigger: { job: "operator" } } };

test("bootstrap creates and logs a user, an organization, a project and a key, but only once", async () => {
	const options = { email: " New@Example.com", organization: "New" };
	const { result } = await operate("bootstrap", options);
	expect(result).toMatchObject({
		email: "new@example.com",
		organization_name: "New",
		project: expect.any(Number),
		key: expect.stringMatching(/^tnt_/),
	});
	const { key, organization } = result;
	const { body } = await call("GET", "/api/organizations/@current", { key });
	expect(body).toMatchObject({
		id: organization,
		plugins_access_level: 9,
		membership_level: 15,
		teams: [{ id: result.project }],
	});
	const entries = await call("GET", `/api/organizations/${organization}/activity_log/`, { key });
	expect(entries.body).toMatchObject({ count: 4 });
	expect(entries.body.results).toMatchObject([
		{ ...byOperator, activity: "created", scope: "PersonalApiKey" },
		{ ...byOperator, activity: "created", scope: "User" },
		{
			...byOperator,
			activity: "created",
			scope: "Member",
			detail: { name: "new@example.com", trigger: { job: "operator", via: "creation" } },
		},
		{ ...byOperator, activity: "created", scope: "Organization" },
	]);
	const again = await operate("bootstrap", { ...options, organization: "X" });
	expect(again).toEqual({ result: { ...result, key: null } });
});

test("when bootstraps of one address race, one creates the user and all succeed", async () => {
	const responses = await Promise.all(
		Array.from({ length: 5 }, () => operate("bootstrap", { email: "racer@example.com" })),
	);
	const results = responses.map(({ result }) => result);
	expect(new Set(results.map(({ user }) => user)).size).toBe(1);
	expect(new Set(results.map(({ organization }) => organization)).size).toBe(1);
	expect(results.filter(({ key }) => key !== null)).toHaveLength(1);
});

test("a key is created with its scopes and revoked at once, and both are logged for its owner's organization", async () => {
	const home = await world();
	const { email } = home.owner;
	const scopes = ["user:read", "organization:read"];
	const { result } = await operate("key create", {
		email: email.toUpperCase(),
		label: "CI",
		scopes,
	});
	expect(result).toMatchObject({ label: "CI", scopes });
	const { id, key } = result;
	expect((await call("GET", "/api/users/@me", { key })).status).toBe(200);
	expect((await call("GET", "/api/projects", { key })).status).toBe(403);
	expect(await operate("key revoke", { id })).toEqual({
		result: { revoked: id, label: "CI" },
	});
	expect((await call("GET", "/api/users/@me", { key })).status).toBe(401);
	const entry = { ...byOperator, scope: "PersonalApiKey", item_id: id };
	expect(await log(home)).toMatchObject([
		{ ...entry, activity: "deleted" },
		{ ...entry, activity: "created" },
	]);
});

test("a key with a time to expire is rejected after it", async () => {
	stopClock();
	const { owner } = await world();
	const { result } = await operate("key create", {
		email: owner.email,
		label: "CI",
		scopes: ["user:read"],
		expires_at: new Date(Date.now() + 60_000).toISOString(),
	});
	expect(result.expires_at).toBe(new Date(Date.now() + 60_000).toISOString());
	expect((await call("GET", "/api/users/@me", { key: result.key })).status).toBe(200);
	vi.setSystemTime(Date.now() + 61_000);
	expect((await call("GET", "/api/users/@me", { key: result.key })).status).toBe(401);
});

test("a second factor that is reset is gone with its recovery codes, which each of the user's organizations sees", async () => {
	const [one, two] = [await world(), await world()];
	const member = await join(one.id, 1);
	await db
		.insert(members)
		.values({ organization_id: organizationId(two.id), user_id: member.id, level: 1 });
	const factor = (action = "", code?: string) =>
		call(
			code === undefined && action === "" ? "GET" : "POST",
			`/api/users/@me/two_factor${action}`,
			{
				key: member.key,
				...(code && { body: { code } }),
			},
		);
	await verify(member);
	const { secret } = (await factor("/begin")).body;
	expect((await factor("/confirm", await codeOf(secret))).status).toBe(200);
	expect(await operate("user reset-two-factor", { email: member.email })).toEqual({
		result: { reset: member.email },
	});
	expect((await factor()).body).toMatchObject({ is_enabled: false, recovery_codes_left: 0 });
	const { results } = (await one.here("GET", "/members/")).body;
	expect(results.map((each: Record<string, unknown>) => each.is_2fa_enabled)).toEqual([
		false,
		false,
	]);
	const entry = { ...byOperator, activity: "disabled", scope: "TwoFactor", item_id: member.uuid };
	for (const home of [one, two]) expect((await log(home))[0]).toMatchObject(entry);
	expect(await operate("user reset-two-factor", { email: member.email })).toEqual({
		error: "There is no second factor for this user.",
	});
});

test("unlinks the accounts of a user, all or one of them", async () => {
	const home = await withDomain();
	const ada = await home.colleague();
	const { connection } = who(home);
	await finish(home, who(home));
	await db
		.insert(identities)
		.values({ connection: "github", subject: ada.uuid, user_id: ada.id, email: ada.email });
	const email = ada.email;
	expect(await operate("user unlink", { email, connection })).toEqual({
		result: { unlinked: email, connections: [connection] },
	});
	const entry = { ...byOperator, activity: "deleted", scope: "Identity", item_id: connection };
	expect((await log(home))[0]).toMatchObject(entry);
	expect(await finish(home, who(home))).toMatchObject({ token: expect.any(String) });
	expect(await operate("user unlink", { email })).toEqual({
		result: { unlinked: email, connections: ["github", connection] },
	});
	expect(await operate("user unlink", { email })).toEqual({
		error: "There is no account at a provider that is linked to this user.",
	});
});

test("a deactivated user is rejected at once, and each of its organizations gets one log entry", async () => {
	const [one, two, stranger] = [await world(), await world(), await world()];
	const leaver = await join(one.id, 1);
	await db
		.insert(members)
		.values({ organization_id: organizationId(two.id), user_id: leaver.id, level: 1 });
	for (let i = 0; i < 2; i++)
		expect(await operate("user deactivate", { email: leaver.email })).toEqual({
			result: { deactivated: leaver.email },
		});
	const { status } = await call("GET", "/api/users/@me", { key: leaver.key });
	expect(status).toBe(401);
	const entry = { ...byOperator, activity: "deactivated", scope: "User" };
	for (const home of [one, two])
		expect(await log(home)).toMatchObject([{ ...entry, item_id: leaver.uuid }]);
	expect(await log(stranger)).toEqual([]);
});

test("bootstrap gives a deactivated user no key", async () => {
	const options = { email: `${crypto.randomUUID()}@example.com`, organization: "New" };
	const { result } = await operate("bootstrap", options);
	await operate("user deactivate", { email: options.email });
	await db.delete(personalApiKeys).where(eq(personalApiKeys.mask_value, mask(result.key)));
	expect(await operate("bootstrap", options)).toEqual({
		error: "The user with this email address is deactivated.",
	});
	const [user] = await db.select().from(users).where(eq(users.email, options.email));
	const its = eq(personalApiKeys.user_id, user?.id ?? 0);
	expect([user?.is_active, await db.$count(personalApiKeys, its)]).toEqual([false, 0]);
});

test("organization set changes the given fields, and logs what changed", async () => {
	const home = await world();
	const options = {
		id: home.id,
		plugins_access_level: "3",
		features: ["sso", "saml"],
		customer_id: "c-1",
	};
	for (let i = 0; i < 2; i++)
		expect(await operate("organization set", options)).toMatchObject({
			result: { organization: home.id, plugins_access_level: 3 },
		});
	expect((await home.here("GET", "")).body).toMatchObject({
		plugins_access_level: 3,
		customer_id: "c-1",
		available_product_features: [
			{ key: "sso", name: "sso" },
			{ key: "saml", name: "saml" },
		],
	});
	const entries = await log(home);
	expect(entries).toMatchObject([{ ...byOperator, activity: "updated", scope: "Organization" }]);
	expect(entries[0].detail.changes).toHaveLength(3);
});

test("the lists are newest first and have a count", async () => {
	const home = await world("Listed");
	await keyFor(home.owner.id);
	const users = await operate("user list", { limit: "1" });
	expect(users.result.results).toMatchObject([
		{ email: home.owner.email, is_active: true, organizations: 1, keys: 2 },
	]);
	const { result } = await operate("organization list");
	expect(result.results[0]).toMatchObject({
		id: home.id,
		name: "Listed",
		members: 1,
	});
	expect(result.count).toBe(await db.$count(organizations));
});

test.each([
	["nonsense", {}, 'There is no command "nonsense".'],
	["toString", {}, 'There is no command "toString".'],
	["bootstrap", {}, "email: This field is required."],
	["bootstrap", { email: "x" }, "email: Enter a valid email address."],
	[
		"key create",
		{ email: "a@b.cd", label: "x", scopes: ["all"] },
		'scopes: "all" is not a valid choice.',
	],
	[
		"key create",
		{ email: "nobody@example.com", label: "x", scopes: ["*"] },
		"There is no user with this email address.",
	],
	["key revoke", { id: "x" }, "id: Must be a valid UUID."],
	["key revoke", { id: crypto.randomUUID() }, "There is no key with this id."],
	["user deactivate", { email: "nobody@example.com" }, "There is no user with this email address."],
	["user list", { limit: "0" }, "limit: Ensure this value is greater than or equal to 1."],
	[
		"organization set",
		{ id: crypto.randomUUID() },
		"Nothing to set: give --plugins-access-level, --feature or --customer-id.",
	],
	[
		"organization set",
		{ id: crypto.randomUUID(), customer_id: "x" },
		"There is no organization with this id.",
	],
	[
		"organization set",
		{ id: crypto.randomUUID(), plugins_access_level: "5" },
		'plugins_access_level: "5" is not a valid choice.',
	],
])("%s with %j fails with a message", async (command, options, error) => {
	expect(await operate(command, options)).toEqual({ error });
});

test("no HTTP request reaches the operator's entrypoint", async () => {
	const { key } = await world();
	const body = { email: "intruder@example.com" };
	for (const path of [
		"/Operator",
		"/Operator/run",
		"/operator/bootstrap",
		"/api/operator",
		"/api/Operator/run",
	])
		for (const method of ["GET", "POST"])
			expect((await call(method, path, { key, ...(method === "POST" && { body }) })).status).toBe(
				404,
			);
	// An entrypoint without a fetch handler can only be called through a binding.
	expect(Object.getOwnPropertyNames(Operator.prototype)).toEqual(["constructor", "run"]);
	const { result } = await operate("user list", { limit: 1000 });
	expect(JSON.stringify(result)).not.toContain("intruder@example.com");
});
