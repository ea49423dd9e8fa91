import { expect, test } from "vitest";
import { world } from "../support/world.ts";

test("a key that can only run exports starts, pauses and retries them, and changes nothing else", async () => {
	const { here, ask, owner, id } = await world();
	const body = { name: "Export", interval: "hour", destination: { type: "NoOp", config: {} } };
	const { body: made } = await here("POST", "/batch_exports", { body });
	const keyWith = async (scope: string) => {
		const key = { label: "Runner", scopes: [scope] };
		return (await ask("POST", "/api/personal_api_keys", { key: owner.key, body: key })).body.value;
	};
	const path = `/api/organizations/${id}/batch_exports/${made.id}`;
	const statusOf = async (key: string, method: string, below: string, body?: object) =>
		(await ask(method, `${path}${below}`, { key, ...(body && { body }) })).status;
	const runner = await keyWith("batch_export:run");
	const allowed = [
		["GET", "", 200],
		["GET", "/runs", 200],
		["POST", "/pause", 200],
		["POST", "/unpause", 200],
		["POST", "/backfill", 200],
		["POST", "/retry_failed", 202],
		["PATCH", "", 403],
		["DELETE", "", 403],
		["POST", "/dismiss_failed", 403],
		["POST", "/test", 403],
	] as const;
	for (const [method, below, status] of allowed)
		expect([
			method,
			below,
			await statusOf(runner, method, below, method === "GET" ? undefined : {}),
		]).toEqual([method, below, status]);
	const reader = await keyWith("batch_export:read");
	expect(await statusOf(reader, "POST", "/pause")).toBe(403);
	const writer = await keyWith("batch_export:write");
	expect(await statusOf(writer, "POST", "/pause")).toBe(200);
	// Nobody gives away more than they have, and no other object can be run.
	const grant = (key: string, scopes: string[]) =>
		ask("POST", "/api/personal_api_keys", { key, body: { label: "More", scopes } });
	expect((await grant(owner.key, ["plugin:run"])).status).toBe(400);
	const maker = (await grant(owner.key, ["personal_api_key:write", "batch_export:run"])).body.value;
	expect((await grant(maker, ["batch_export:write"])).status).toBe(403);
	expect((await grant(maker, ["batch_export:read"])).status).toBe(201);
});
