import { expect, test } from "vitest";
import { send } from "./support.ts";

test("a form with very many parameters is read once", async () => {
	const names = new URLSearchParams(Array.from({ length: 70_000 }, (_, i) => [`${i}`, ""]));
	expect((await send("POST", "/oauth/token", names)).status).toBe(400);
});
