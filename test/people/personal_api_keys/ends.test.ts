import { exports } from "cloudflare:workers";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { wrong } from "../../support/errors.ts";
import { stopClock } from "../../support/time.ts";
import { call, world } from "../../support/world.ts";

beforeEach(() => stopClock());

const DETAIL = "Ensure this time is in the future.";

const inMs = (ms: number) => new Date(Date.now() + ms).toISOString();

/** Paths that create keys, of a person and of a service account. */
const PATHS = {
	"a person's": async () => "/api/personal_api_keys",
	"a service account's": async ({ here, id }: Awaited<ReturnType<typeof world>>) => {
		const { body } = await here("POST", "/service_accounts", { body: { name: "Deploy" } });
		return `/api/organizations/${id}/service_accounts/${body.id}/keys`;
	},
};

describe.each(Object.entries(PATHS))("%s key", (_, pathOf) => {
	test("can't begin after its end", async () => {
		const home = await world();
		const path = await pathOf(home);
		const create = (expires_at: string) =>
			home.ask("POST", path, { body: { label: "x", scopes: ["user:read"], expires_at } });
		for (const expires_at of [inMs(0), inMs(-1), "2020-01-01", "0001-01-01"])
			expect(await create(expires_at)).toMatchObject(wrong("invalid_input", DETAIL, "expires_at"));
		expect((await home.ask("GET", path)).body.results).not.toContainEqual(
			expect.objectContaining({ label: "x" }),
		);
		expect((await create(inMs(1))).status).toBe(201);
	});

	test("can be ended by a change; then it can't be rolled until it has a later end", async () => {
		const home = await world();
		const path = await pathOf(home);
		const body = { label: "x", scopes: ["user:read"] };
		const { id, value } = (await home.ask("POST", path, { body })).body;
		const at = `${path}/${id}`;
		const end = (expires_at: string) => home.ask("PATCH", at, { body: { expires_at } });
		expect((await end(inMs(0))).status).toBe(200);
		expect((await call("GET", "/api/users/@me", { key: value })).status).toBe(401);
		expect(await home.ask("POST", `${at}/roll`)).toMatchObject(
			wrong(
				"invalid_input",
				"The key has expired. Give it a later expires_at, then roll it.",
				"expires_at",
			),
		);
		expect((await end(inMs(1000))).status).toBe(200);
		expect((await home.ask("POST", `${at}/roll`)).status).toBe(200);
	});
});

test("a repeated request gets the response with the key, also after the key's end", async () => {
	const { ask } = await world();
	const body = { label: "x", scopes: ["user:read"], expires_at: inMs(1000) };
	const create = () =>
		ask("POST", "/api/personal_api_keys", { body, headers: { "idempotency-key": "once" } });
	const first = await create();
	vi.setSystemTime(Date.now() + 1001);
	expect(await create()).toMatchObject({ status: 201, body: first.body });
});

test("the operator can't create a key that has ended", async () => {
	const { owner } = await world();
	const options = { email: owner.email, label: "CI", scopes: ["*"], expires_at: inMs(-1) };
	const outcome = await exports.Operator.run("key create", JSON.stringify(options));
	expect(JSON.parse(outcome)).toEqual({ error: `expires_at: ${DETAIL}` });
});
