import { beforeEach, expect, test } from "vitest";
import { weighing } from "../../support/world.ts";
import { clear, deliver, home, queue } from "./support.ts";

beforeEach(clear);

test("a thousand entries of maximum length are stored within D1’s limit for a value", async () => {
	const here = await home(
		"exports.jobs = { talk() { for (let i = 0; i < 1000; i++) console.log('\\u0001'.repeat(4000)) } }",
	);
	const { env: weighed, heaviest } = weighing();
	await queue(here, { name: "talk" });
	await deliver(weighed);
	const { body } = await here.ask("GET", `${here.path}/logs?limit=3`);
	expect(body.results[2].message).toHaveLength(4000);
	// Besides those of the plugin, the log has a few of the system.
	expect(body.count).toBeGreaterThan(1000);
	expect(heaviest()).toBeGreaterThan(400_000);
	expect(heaviest()).toBeLessThan(2_000_000);
});
