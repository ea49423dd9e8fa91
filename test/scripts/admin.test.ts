import { afterAll, beforeAll, expect, test } from "vitest";
import { discard, folder, freePort, npm, Server } from "../support/server.ts";

let state: string;
let server: Server;
let port: number;

beforeAll(async () => {
	state = folder();
	port = await freePort();
	server = new Server({ PORT: String(port), STATE_DIR: state });
	await server.says(/listens/);
});

afterAll(async () => {
	await server.stop();
	discard(state);
});

/** What a command answered in JSON. */
async function admin(...words: string[]) {
	const { code, out, err } = await npm("admin", [...words, "--json"], {
		STATE_DIR: state,
	});
	return { code, err, said: out === "" ? null : JSON.parse(out) };
}

const get = (path: string, key: string) =>
	fetch(`http://127.0.0.1:${port}/api${path}`, {
		headers: { authorization: `Bearer ${key}` },
	});

test("bootstrap makes a user, an organization, a project and a key, once", async () => {
	const first = await admin(
		"bootstrap",
		"--email",
		"First@Example.com",
		"--organization",
		"First",
	);
	expect(first).toMatchObject({
		code: 0,
		said: {
			email: "first@example.com",
			organization_name: "First",
			project: expect.any(Number),
		},
	});
	const { key, organization, project } = first.said;
	expect(
		await (await get("/organizations/@current", key)).json(),
	).toMatchObject({
		id: organization,
		name: "First",
		teams: [{ id: project }],
		plugins_access_level: 9,
	});
	const again = await admin(
		"bootstrap",
		"--email",
		"first@example.com",
		"--organization",
		"Second",
	);
	expect(again.said).toEqual({ ...first.said, key: null });
});

test("a key is created with its scopes, and revoked at once", async () => {
	const { said } = await admin(
		"key",
		"create",
		"--email",
		"admin@example.com",
		"--label",
		"CI",
		"--scopes",
		"user:read,project:read",
		"plugin:write",
	);
	expect(said).toMatchObject({
		label: "CI",
		scopes: ["user:read", "project:read", "plugin:write"],
	});
	expect((await get("/users/@me", said.key)).status).toBe(200);
	expect((await get("/organizations", said.key)).status).toBe(403);
	expect((await admin("key", "revoke", said.id)).code).toBe(0);
	expect((await get("/users/@me", said.key)).status).toBe(401);
});

test("a deactivated user is refused at once", async () => {
	const { said } = await admin("bootstrap", "--email", "leaver@example.com");
	const { key } = said;
	expect((await get("/users/@me", key)).status).toBe(200);
	expect(
		(await admin("user", "deactivate", "leaver@example.com")).said,
	).toEqual({
		deactivated: "leaver@example.com",
	});
	expect((await get("/users/@me", key)).status).toBe(401);
});

test("what only the operator sets of an organization", async () => {
	const { said } = await admin("bootstrap", "--email", "owner@example.com");
	const { key, organization } = said;
	expect(
		await admin(
			"organization",
			"set",
			organization,
			"--plugins-access-level",
			"3",
			"--feature",
			"sso",
			"--feature",
			"saml",
			"--customer-id",
			"c-1",
		),
	).toMatchObject({ code: 0 });
	expect(
		await (await get("/organizations/@current", key)).json(),
	).toMatchObject({
		plugins_access_level: 3,
		customer_id: "c-1",
		available_product_features: [
			{ key: "sso", name: "sso" },
			{ key: "saml", name: "saml" },
		],
	});
});

test.each([
	[[], 2, "bootstrap --email E"],
	[["nonsense"], 2, "bootstrap --email E"],
	[["bootstrap", "--emial", "x"], 2, "Unknown option '--emial'"],
	[["bootstrap", "--email", "x"], 1, "takes an e-mail address"],
	[
		[
			"key",
			"create",
			"--email",
			"admin@example.com",
			"--label",
			"x",
			"--scopes",
			"all",
		],
		1,
		"Invalid option",
	],
	[
		[
			"key",
			"create",
			"--email",
			"nobody@example.com",
			"--label",
			"x",
			"--scopes",
			"*",
		],
		1,
		"no user of this address",
	],
	[["key", "revoke", "x"], 1, "no key of this id"],
	[["user", "deactivate", "nobody@example.com"], 1, "no user of this address"],
	[["organization", "set", "x"], 1, "Say what to set"],
	[
		["organization", "set", "x", "--customer-id", "y"],
		1,
		"no organization of this id",
	],
	[
		["organization", "set", "x", "--plugins-access-level", "5"],
		1,
		"0, 3, 6 or 9",
	],
])("%j ends with %i and says why", async (words, code, why) => {
	const { err, ...answer } = await admin(...words);
	expect(answer).toEqual({ code, said: null });
	expect(err).toContain(why);
});

test("on a database without tables it says what to do", async () => {
	const empty = folder();
	const { code, err } = await npm(
		"admin",
		["bootstrap", "--email", "x@example.com"],
		{ STATE_DIR: empty },
	);
	expect({ code, err }).toEqual({
		code: 1,
		err: expect.stringContaining("migrations apply DB --local"),
	});
	discard(empty);
});
