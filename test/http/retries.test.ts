import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { v7 } from "uuid";
import { describe, expect, test, vi } from "vitest";
import { deleteExpiredKeys } from "../../src/access/idempotency.ts";
import { idempotencyKeys } from "../../src/db/schema/idempotency_keys.ts";
import { domains } from "../../src/db/schema/organizations.ts";
import { personalApiKeys } from "../../src/db/schema/personal_api_keys.ts";
import { routesOf, sample } from "../support/routes.ts";
import { eventually } from "../support/time.ts";
import { call, db, furnished, join, keyFor, person, world } from "../support/world.ts";
import {
	entriesOf,
	expireLease,
	type Options,
	post,
	replayed,
	rowsOf,
	SOON,
	sendKilled,
	testRetries,
} from "./retries.ts";

testRetries([
	...sample.filter(({ method }) => method === "POST"),
	...routesOf(
		"POST /api/organizations/:organization_id/batch_exports/:id/unpause",
		"POST /api/organizations/:organization_id/webhooks/:id/roll",
		"POST /api/organizations/:organization_id/domains/:id/verify",
	),
]);

const SESSION = {
	session: { method: "mail", connection: null, address: null, user_agent: null },
	expires_at: SOON,
};

const domainOf = () => ({ domain: `${crypto.randomUUID()}.example.com` });

describe("an Idempotency-Key", () => {
	test("of many requests at once changes one thing; the others get the same response or a 409", async () => {
		const home = await world();
		const body = domainOf();
		const path = `/api/organizations/${home.id}/domains`;
		const answers = await Promise.all(
			Array.from({ length: 5 }, () => post(home, path, "race", { body })),
		);
		const first = answers.filter(
			({ status, headers }) => status === 201 && !headers.has("idempotency-replayed"),
		);
		expect(first).toHaveLength(1);
		for (const { status, headers, body } of answers.filter((answer) => answer !== first[0]))
			if (status === 201)
				expect([headers.get("idempotency-replayed"), body]).toEqual(["true", first[0]?.body]);
			else {
				expect([status, body.code]).toEqual([409, "idempotency_key_in_use"]);
				expect(headers.get("retry-after")).toBe("1");
			}
		expect((await home.ask("GET", path)).body.count).toBe(1);
		expect(await entriesOf(home)).toHaveLength(1);
		const again = await replayed(() => post(home, path, "race", { body }));
		expect(again.body).toEqual(first[0]?.body);
	});

	test("is rejected with another body or path", async () => {
		const home = await world();
		const path = `/api/organizations/${home.id}/domains`;
		const body = domainOf();
		await post(home, path, "one", { body });
		await replayed(() => post(home, path, "one", { body }));
		for (const [at, other] of [
			[path, domainOf()],
			["/api/projects", body],
			[`${path}?x=1`, body],
		] as const) {
			const response = await post(home, at, "one", { body: { name: "x", ...other } });
			expect([response.status, response.body.type, response.body.code]).toEqual([
				400,
				"invalid_request",
				"idempotency_key_reused",
			]);
		}
		expect(await entriesOf(home)).toHaveLength(1);
		// A trailing slash is no other path.
		expect((await post(home, `${path}/`, "one", { body })).status).toBe(201);
	});

	test("of another user is another key; another key of the same user is the same caller", async () => {
		const home = await world();
		const member = await join(home.id, 8);
		const path = `/api/organizations/${home.id}/projects`;
		const send = (key: string) =>
			call("POST", path, { key, body: { name: "P" }, headers: { "idempotency-key": "k" } });
		const first = await send(home.key);
		const theirs = await send(member.key);
		expect(theirs.body.id).not.toBe(first.body.id);
		const second = await keyFor(home.owner.id);
		expect((await replayed(() => send(second))).body).toEqual(first.body);
	});

	test("does not let a revoked or narrower key see a response", async () => {
		const home = await world();
		const path = `/api/organizations/${home.id}/projects`;
		const send = (key: string) =>
			call("POST", path, { key, body: { name: "P" }, headers: { "idempotency-key": "k" } });
		await send(home.key);
		await replayed(() => send(home.key));
		const narrow = await keyFor(home.owner.id, { scopes: ["project:read"] });
		expect((await send(narrow)).status).toBe(403);
		await db.delete(personalApiKeys).where(eq(personalApiKeys.user_id, home.owner.id));
		expect((await send(home.key)).status).toBe(401);
	});

	test.each([
		{ scopes: ["personal_api_key:write"] },
		{ scoped_projects: true },
		{ expires_at: SOON },
	])("does not show the value of a new key to one with less access: %j", async (access) => {
		const home = await world();
		const body = { label: "New", scopes: ["*"] };
		const send = (key: string) =>
			post({ ask: home.ask }, "/api/personal_api_keys", "k", { key, body });
		const { value } = (await send(home.key)).body;
		expect((await replayed(() => send(home.key))).body.value).toBe(value);
		const { scoped_projects, ...others } = { scoped_projects: false, ...access };
		const other = await keyFor(home.owner.id, {
			...others,
			...(scoped_projects && { scoped_projects: [home.project] }),
		});
		const answer = await send(other);
		expect(answer).toMatchObject({ status: 400, body: { code: "idempotency_key_reused" } });
		expect(JSON.stringify(answer.body)).not.toContain(value);
	});

	test.each([
		["after signing in again", SESSION, { ...SESSION, expires_at: "2999-01-02T00:00:00.000Z" }],
		["with a session instead of a key", {}, SESSION],
		["with a key that has more access", { scopes: ["project:write"], expires_at: SOON }, {}],
	])("gets the first response %s", async (_, first, second) => {
		const home = await world();
		const path = `/api/organizations/${home.id}/projects`;
		const send = (key: string) => post(home, path, "k", { key, body: { name: "P" } });
		const { body } = await send(await keyFor(home.owner.id, first));
		const other = await keyFor(home.owner.id, second);
		expect((await replayed(() => send(other))).body).toEqual(body);
	});

	test("has 1 to 255 printable characters", async () => {
		const home = await world();
		const path = `/api/organizations/${home.id}/projects`;
		for (const key of ["", "x".repeat(256), "a\tb"]) {
			const response = await post(home, path, key, { body: { name: "P" } });
			expect([key, response.status, response.body.code]).toEqual([key, 400, "invalid_input"]);
		}
		for (const key of ["x", "x".repeat(255), "a ~!"])
			expect((await post(home, path, key, { body: { name: "P" } })).status).toBe(201);
		const stranger = await world();
		expect((await post(stranger, path, "", { body: { name: "P" } })).status).toBe(403);
	});

	test("stays free after a rejection", async () => {
		const home = await world();
		const path = `/api/organizations/${home.id}/domains`;
		const { domain } = domainOf();
		const [taken] = [domainOf()];
		await home.ask("POST", path, { body: taken });
		for (const body of [{}, { domain: "no domain" }, taken]) {
			expect((await post(home, path, "again", { body })).status).toBe(400);
			expect(await rowsOf(home)).toEqual([]);
		}
		expect((await post(home, path, "again", { body: { domain } })).status).toBe(201);
	});

	test("stays free when the change changed nothing, and is kept afterwards", async () => {
		const home = await world();
		await db.insert(personalApiKeys).values(
			Array.from({ length: 4 }, () => ({
				user_id: home.owner.id,
				label: "x",
				hash: v7(),
				mask_value: "",
				scopes: ["*"],
			})),
		);
		for (let i = 5; i < 25; i++) await keyFor(home.owner.id);
		const send = () =>
			post(home, "/api/personal_api_keys", "k", { body: { label: "One more", scopes: ["*"] } });
		expect((await send()).status).toBe(400);
		const [spare] = (await home.ask("GET", "/api/personal_api_keys?limit=1")).body.results;
		await home.ask("DELETE", `/api/personal_api_keys/${spare.id}`);
		expect((await send()).status).toBe(201);
	});

	test("is free again after a day, and its row is deleted", async () => {
		const home = await world();
		const path = `/api/organizations/${home.id}/projects`;
		const send = () => post(home, path, "old", { body: { name: "P" } });
		const first = await send();
		await replayed(send);
		const age = () =>
			db
				.update(idempotencyKeys)
				.set({ created_at: new Date(Date.now() - 86_400_001).toISOString() })
				.where(eq(idempotencyKeys.user_id, home.owner.id));
		await age();
		const second = await send();
		expect([second.status, second.headers.has("idempotency-replayed")]).toEqual([201, false]);
		expect(second.body.id).not.toBe(first.body.id);
		expect((await replayed(send)).body).toEqual(second.body);
		await age();
		await deleteExpiredKeys(env);
		expect(await rowsOf(home)).toEqual([]);
	});

	test("after a 5xx repeats nothing that was written", async () => {
		const home = await world();
		const send = (overrides?: Partial<Env>) =>
			post(home, "/api/personal_api_keys", "k", {
				body: { label: "New", scopes: ["*"] },
				...(overrides && { env: overrides }),
			});
		const put = () => {
			throw new Error("KV is down.");
		};
		const KEYS: KVNamespace = Object.assign(Object.create(env.KEYS), {
			get: env.KEYS.get.bind(env.KEYS),
			put,
		});
		vi.spyOn(console, "error").mockImplementation(() => {});
		// Tests accept no 500.
		await expect(send({ KEYS })).rejects.toThrow("→ 500");
		await eventually(async () =>
			expect((await send()).body).toMatchObject({ code: "outcome_unknown" }),
		);
		expect((await home.ask("GET", "/api/personal_api_keys")).body.count).toBe(2);
	});

	test("keeps secrets sealed", async () => {
		const home = await world();
		const { body } = await post(home, "/api/personal_api_keys", "k", {
			body: { label: "New", scopes: ["*"] },
		});
		const { body: invite } = await post(home, `/api/organizations/${home.id}/invites`, "i", {
			body: { target_email: `${v7()}@tenantry.test`, send_email: false },
		});
		expect(invite.accept_url).toMatch(/\/invites\/./);
		await eventually(async () => {
			const rows = await rowsOf(home);
			expect(rows.map(({ response }) => response?.startsWith("sealed:"))).toEqual([true, true]);
			const stored = JSON.stringify(rows);
			expect(stored).not.toContain(body.value);
			expect(stored).not.toContain(invite.accept_url.split("/").at(-1));
		});
	});

	test("is rejected where secrets can't be sealed, and nothing is written", async () => {
		const home = await world();
		const { status, body } = await post(home, "/api/projects", "k", {
			body: { name: "P" },
			env: { SECRETS_KEY: "" },
		});
		expect([status, body.detail]).toEqual([
			400,
			"Secrets can't be stored: SECRETS_KEY is not configured.",
		]);
		expect((await home.ask("GET", "/api/projects")).body.count).toBe(1);
	});

	test("that has If-Match, too, gets its own response again, and not that of the GET", async () => {
		const home = await furnished();
		const path = `/api/projects/${home.project}/plugin_configs/${home.config}`;
		const tag = (await home.ask("GET", path)).headers.get("etag") ?? "";
		const send = () =>
			post(home, `${path}/job`, "a job", {
				body: { job: { type: "go" } },
				headers: { "if-match": tag },
			});
		const first = await send();
		expect([first.status, first.body]).toEqual([200, null]);
		expect((await replayed(send)).body).toBeNull();
	});

	test("doesn't matter to a PATCH or a DELETE", async () => {
		const home = await furnished();
		const headers = { "idempotency-key": "" };
		const path = `/api/organizations/${home.id}/domains/${home.domain}`;
		const patched = await home.ask("PATCH", path, { body: { saml_entity_id: "x" }, headers });
		expect(patched.status).toBe(200);
		expect((await home.ask("DELETE", path, { headers })).status).toBe(204);
		expect(await db.select().from(domains).where(eq(domains.id, home.domain))).toEqual([]);
	});
});

describe("accepting an invite with an API key and an Idempotency-Key", () => {
	const invited = async () => {
		const home = await world();
		const guest = await person();
		const { body } = await home.ask("POST", `/api/organizations/${home.id}/invites`, {
			body: { target_email: guest.email, send_email: false },
		});
		const path = `/api/invites/${body.accept_url.split("/").at(-1)}/accept`;
		const send = (options: Options = {}) =>
			call("POST", path, {
				key: guest.key,
				body: {},
				headers: { "idempotency-key": "join" },
				...options,
			});
		return { home, guest, path, send };
	};

	test("gets the first response when it is repeated", async () => {
		const { home, send } = await invited();
		const first = await send();
		expect([first.status, first.body.organization.id]).toEqual([200, home.id]);
		expect((await replayed(send)).body).toEqual(first.body);
	});

	test("is a 409 when it is repeated after it was killed after its change", async () => {
		const { home, guest, send } = await invited();
		await sendKilled(send);
		expect((await send()).body.code).toBe("idempotency_key_in_use");
		await expireLease({ owner: guest });
		expect((await send()).body.code).toBe("outcome_unknown");
		const { body } = await call("GET", "/api/users/@me", { key: guest.key });
		expect(body.organization.id).toBe(home.id);
	});

	test("ignores the Idempotency-Key without an API key", async () => {
		const home = await world();
		const { body } = await home.ask("POST", `/api/organizations/${home.id}/invites`, {
			body: { target_email: `${v7()}@tenantry.test`, send_email: false },
		});
		const path = `/api/invites/${body.accept_url.split("/").at(-1)}/accept`;
		const send = () => call("POST", path, { body: {}, headers: { "idempotency-key": "join" } });
		expect((await send()).status).toBe(200);
		expect((await send()).status).toBe(404);
	});
});
