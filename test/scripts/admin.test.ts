import { writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { discard, folder, freePort, npm, admin as runAdmin, Server } from "../support/server.ts";

let state: string;
let server: Server;
let port: number;

beforeAll(async () => {
	state = folder();
	port = await freePort();
	server = new Server({ PORT: String(port), STATE_DIR: state });
	await server.says(/Tenantry is running/);
});

afterAll(async () => {
	await server.stop();
	discard(state);
});

/** Runs a command. `result` is its JSON output; null if it printed nothing. */
async function admin(...words: string[]) {
	const { code, out, err } = await runAdmin([...words, "--json"], { STATE_DIR: state });
	return { code, err, result: out === "" ? null : JSON.parse(out) };
}

const ask = (path: string, key: string, body?: object) =>
	fetch(`http://127.0.0.1:${port}/api${path}`, {
		headers: {
			authorization: `Bearer ${key}`,
			"content-type": "application/json",
		},
		...(body && { method: "POST", body: JSON.stringify(body) }),
	});

test("a key is created, used and revoked while the server runs", async () => {
	const { result, err } = await admin(
		...["key", "create", "--email", "Admin@Example.com", "--label", "CI"],
		...["--scopes", "user:read,project:read", "plugin:write"],
	);
	expect(err).toBe("");
	expect(result).toMatchObject({
		label: "CI",
		scopes: ["user:read", "project:read", "plugin:write"],
	});
	expect((await ask("/users/@me", result.key)).status).toBe(200);
	expect((await ask("/organizations", result.key)).status).toBe(403);
	expect((await admin("key", "revoke", result.id)).code).toBe(0);
	expect((await ask("/users/@me", result.key)).status).toBe(401);
});

test("organization set changes what only the operator can set", async () => {
	const { result } = await admin("bootstrap", "--email", "owner@example.com");
	const { key, organization } = result;
	const { code } = await admin(
		...["organization", "set", organization],
		...["--plugins-access-level", "3", "--customer-id", "c-1"],
		...["--feature", "sso", "--feature", "saml"],
	);
	expect(code).toBe(0);
	expect(await (await ask("/organizations/@current", key)).json()).toMatchObject({
		plugins_access_level: 3,
		customer_id: "c-1",
		available_product_features: [
			{ key: "sso", name: "sso" },
			{ key: "saml", name: "saml" },
		],
	});
});

test("without --json a list is printed as a table", async () => {
	const { out, err } = await npm("admin", ["user", "list"], {
		STATE_DIR: state,
	});
	expect(err).toBe("");
	expect(out).toMatch(/^email +name +is_active +organizations +keys +created_at\n/);
	expect(out).toMatch(/\nadmin@example\.com +true +1 +1 +20/);
	expect(out).toMatch(/\ncount: \d+\n$/);
});

/** How many requests are sent during the commands; REQUESTS=10000 takes some minutes. */
const REQUESTS = Number(process.env.REQUESTS ?? 400);

test(
	"during many requests, no command fails, and no response is a 5xx",
	async () => {
		Object.assign(process.env, { STATE_DIR: state });
		const { openService } = await import("../../scripts/operator.ts");
		const { WORKER } = await import("../../scripts/state.ts");
		const { env, dispose } = await openService(WORKER, false);
		const operate = async (command: string, options: object) =>
			JSON.parse(await env.OPERATOR.run(command, JSON.stringify(options)));
		// A key may make 480 requests in a minute.
		const keys = await Promise.all(
			Array.from({ length: Math.ceil(REQUESTS / 300) }, async (_, i) => {
				const email = `client-${i}@example.com`;
				return (await operate("bootstrap", { email })).result.key;
			}),
		);
		let sent = 0;
		const statuses = new Map<number, number>();
		const client = async () => {
			for (let i = sent++; i < REQUESTS; i = sent++) {
				const key = keys[i % keys.length];
				const answer =
					i % 4 === 0
						? await ask("/projects/", key, { name: `Project ${i}` })
						: await ask("/organizations/@current/members/", key);
				await answer.text();
				statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
			}
		};
		const processes = async () => {
			const codes = [];
			for (let i = 0; i < 2; i++) {
				const pair = [`one-${i}`, `two-${i}`].map((name) =>
					admin("bootstrap", "--email", `${name}@example.com`),
				);
				codes.push(...(await Promise.all(pair)).map(({ code }) => code));
			}
			return codes;
		};
		const calls = async () => {
			const outcomes = [];
			for (let i = 0; i < 10; i++) {
				const email = `called-${i}@example.com`;
				const { result } = await operate("bootstrap", { email });
				const [id] = String(result.keys[0]).split(" ");
				outcomes.push({ result }, await operate("key revoke", { id }));
				outcomes.push(await operate("user deactivate", { email }));
			}
			return outcomes;
		};
		const [codes, outcomes] = await Promise.all([
			processes(),
			calls(),
			...Array.from({ length: 6 }, client),
		]).finally(dispose);
		expect(codes).toEqual(Array(4).fill(0));
		expect(outcomes).toHaveLength(30);
		expect(outcomes.filter((outcome) => "error" in outcome)).toEqual([]);
		expect(Object.fromEntries(statuses)).toEqual({
			200: REQUESTS - Math.ceil(REQUESTS / 4),
			201: Math.ceil(REQUESTS / 4),
		});
	},
	600_000 + REQUESTS * 200,
);

test.each([
	[[], 2, "Usage: npm run admin -- COMMAND"],
	[["nonsense"], 2, "Unknown command: nonsense"],
	[["bootstrap"], 2, "--email is required."],
	[["bootstrap", "--emial", "x"], 2, "Unknown option '--emial'"],
	[["bootstrap", "x", "--email", "y"], 2, "Unexpected argument: x"],
	[["key", "revoke"], 2, "Expected one argument, got 0."],
	[["user", "list", "--env", "staging"], 2, "--env requires --remote."],
	[["bootstrap", "--email", "x"], 1, "email: Enter a valid email address."],
	[["key", "revoke", "x"], 1, "id: Must be a valid UUID."],
])("%j exits with %i and an error message", async (words, code, message) => {
	const { err, ...answer } = await admin(...words);
	expect(answer).toEqual({ code, result: null });
	expect(err).toContain(message);
});

test.each([
	[["--help"], "Commands:\n  bootstrap --email EMAIL"],
	[["help"], "Commands:"],
	[["key", "create", "--help"], "Usage: npm run admin -- key create --email"],
	[["bootstrap", "--help"], "Create a user with an organization"],
])("%j prints help", async (words, text) => {
	const { code, out, err } = await runAdmin(words, { STATE_DIR: state });
	expect({ code, err }).toEqual({ code: 0, err: "" });
	expect(out).toContain(text);
});

test("an option that npm keeps for itself is an error, instead of a command for the local state", async () => {
	const { code, err } = await runAdmin(["user", "list"], {
		STATE_DIR: state,
		npm_config_remote: "true",
	});
	expect(code).toBe(2);
	expect(err).toContain("npm run admin -- --remote");
});

test("a folder that can't store data is an error that says what to do", async () => {
	const file = `${folder()}/file`;
	writeFileSync(file, "");
	const { code, err } = await runAdmin(["user", "list"], { STATE_DIR: file });
	expect(code).toBe(1);
	expect(err).toMatch(/^Data can't be stored in .+: EEXIST.+ set STATE_DIR\.\n$/);
	discard(dirname(file));
});

test("without database tables the error says what to do", async () => {
	const empty = folder();
	const { code, err } = await runAdmin(["user", "list"], { STATE_DIR: empty });
	expect({ code, err }).toEqual({
		code: 1,
		err: "The database has no tables. Run npm run setup first.\n",
	});
	discard(empty);
});

test("without a running server, commands use the files, one after another", async () => {
	await server.stop();
	const emails = ["a", "b", "c"].map((name) => `file-${name}@example.com`);
	const outcomes = await Promise.all(emails.map((email) => admin("bootstrap", "--email", email)));
	expect(outcomes.map(({ code, err }) => ({ code, err }))).toEqual(
		emails.map(() => ({ code: 0, err: "" })),
	);
	const { result } = await admin("user", "list", "--limit", "3");
	expect(result.results.map(({ email }: { email: string }) => email).sort()).toEqual(emails);
	server = new Server({ PORT: String(port), STATE_DIR: state });
	await server.says(/Tenantry is running/);
	for (const { result } of outcomes) expect((await ask("/users/@me", result.key)).status).toBe(200);
});
