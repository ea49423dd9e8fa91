import { expect, test } from "vitest";
import { call, person } from "../support/world.ts";
import { testCounters } from "./counters.ts";

testCounters(0);

test("a member of many organizations is counted in each", async () => {
	const someone = await person();
	for (let i = 0; i < 3; i++) {
		const { body } = await call("POST", "/api/organizations", {
			key: someone.key,
			body: { name: `O ${i}` },
		});
		await call("POST", "/api/projects", {
			key: someone.key,
			body: { name: "P", organization: body.id },
		});
	}
	expect((await call("GET", "/api/organizations", { key: someone.key })).body.count).toBe(3);
	expect((await call("GET", "/api/projects", { key: someone.key })).body.count).toBe(6);
});
