import { expect, test } from "vitest";
import { cost } from "../../support/world.ts";
import { project } from "./posting.ts";

test("a request can have a megabyte of small events", async () => {
	const { lines, kept } = await project();
	const line = '{"event":"e","distinct_id":"d","person_id":null}\n';
	const n = Math.floor(2 ** 20 / line.length);
	const response = await lines(line.repeat(n));
	expect(response.body).toEqual({ accepted: n });
	expect(cost(response).trips).toBe(2);
	expect(await kept()).toHaveLength(n);
});

test("a request can have a megabyte of persons", async () => {
	const { lines, known } = await project();
	const line = (i: number) =>
		`{"event":"e","distinct_id":"d${i}","person_properties":{"i":${i}}}\n`;
	const text = Array.from({ length: 15_000 }, (_, i) => line(i)).join("");
	expect((await lines(text)).body).toEqual({ accepted: 15_000 });
	expect(await known()).toHaveLength(15_000);
});
