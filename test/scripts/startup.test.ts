import { expect, test } from "vitest";
import { startPart } from "../../scripts/startup.ts";

test("an isolate that starts evaluates no packages but these; others wait until they are needed", async () => {
	const { packages } = await startPart();
	expect(packages).toEqual(["@hono/zod-validator", "drizzle-orm", "hono", "uuid", "zod"]);
});
