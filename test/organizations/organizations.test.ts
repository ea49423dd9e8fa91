import { expect, test } from "vitest";
import { cost, world } from "../support/world.ts";

test("the owner reads its organization", async () => {
	const { ask, id } = await world();
	const first = await ask("GET", `/api/organizations/${id}/`);
	expect(first).toMatchObject({
		status: 200,
		body: { id, name: "Acme", membership_level: 15, member_count: "1" },
	});
	const again = await ask("GET", `/api/organizations/${id}`);
	expect(cost(again)).toMatchObject({ trips: 1, written: 0 });
	console.log(cost(again), first.body);
	for (const [m, p, body] of [
		["GET", "/api/organizations"],
		["POST", "/api/organizations", { name: "Zoo" }],
		["PATCH", "/api/organizations/@current", { name: "Zoo 2" }],
		["GET", "/api/projects"],
		["POST", "/api/projects", { name: "P" }],
		["GET", "/api/users/@me"],
		["PATCH", "/api/users/@me", { first_name: "N", organization: id }],
		["GET", "/api/personal_api_keys"],
		["POST", "/api/personal_api_keys", { label: "a", scopes: ["user:read"] }],
		["POST", "/api/personal_api_keys/@current/roll"],
		["GET", "/api/organizations/@current/activity_log"],
		["GET", "/api/projects/@current/activity_log?scope=Project"],
		["GET", "/api/projects/@current/members"],
		["DELETE", `/api/organizations/${id}`],
		["GET", "/"],
		["GET", "/healthz"],
		["PUT", "/api/projects/"],
	] as const) {
		const a = await ask(m, p, body ? { body } : {});
		console.log(
			m,
			p,
			a.status,
			JSON.stringify(a.body).slice(0, 900),
			JSON.stringify(cost(a)),
		);
	}
});
