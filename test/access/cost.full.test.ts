import { expect, test } from "vitest";
import { address, guarded } from "../support/routes.ts";
import { call, cost } from "../support/world.ts";
import { LIMITLESS } from "./attacker.ts";
import { controlledMember } from "./controlled.ts";

/**
 * Lists of plugins and of configs, whose pages end before they are too large: their condition is in
 * three places.
 */
const isSized = (path: string) =>
	/\/(?:plugins|plugin_configs|pipeline_\w+(?:\/unused)?)$/.test(path);

test("access controls read at most two rows more for each operation that reads, and three for lists of plugins", async () => {
	const { home, key, compare } = await controlledMember();
	const wrong: object[] = [];
	let compared = 0;
	for (const { method, path, fails } of guarded) {
		if (method !== "GET" || fails || !/^\/api\/(?:organizations|projects)/.test(path)) continue;
		const where = address(path, home);
		const { off, on } = await compare(() => call("GET", where, { key, env: LIMITLESS }));
		if (off.status !== 200 || on.status !== 200) continue;
		compared += 1;
		const [without, with_] = [cost(off).read, cost(on).read];
		if (with_ - without > (isSized(path) ? 3 : 2)) wrong.push({ path, without, with_ });
	}
	expect(wrong).toEqual([]);
	expect(compared).toBeGreaterThan(60);
});
