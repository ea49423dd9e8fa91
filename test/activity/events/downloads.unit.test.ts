import { Hono } from "hono";
import { expect, test } from "vitest";
import type { App } from "../../../src/env.ts";
import { download } from "../../../src/http/download.ts";

/** Answers with these names, as JSON or in a file. */
const app = (names: string[]) =>
	new Hono<App>().get("/", async (c) => {
		async function* pages() {
			yield names.map((name) => ({ name }));
		}
		const columns = { name: ({ name }: { name: string }) => name };
		const file = { name: "names", columns, toJson: (row: object) => row, pages: pages() };
		return (await download(c, () => file)) ?? c.json(names);
	});

const JSON_TYPE = "application/json";
const CSV = "text/csv";
const LINES = "application/x-ndjson";

test.each([
	["*/*", JSON_TYPE],
	["application/json", JSON_TYPE],
	["application/xml", JSON_TYPE],
	["text/html, */*;q=0.8", JSON_TYPE],
	["text/csv", CSV],
	["TEXT/CSV;header=present", CSV],
	["application/x-ndjson", LINES],
	["text/csv;q=0.5, application/x-ndjson;q=0.9", LINES],
	["text/csv;q=0.5, application/json", JSON_TYPE],
	["text/csv;q=0.5, */*", JSON_TYPE],
	["text/csv, */*;q=0.1", CSV],
	["text/csv, application/json", CSV],
	["application/json, text/csv", JSON_TYPE],
	["text/csv;q=0", JSON_TYPE],
	["text/csv;q=0, application/x-ndjson;q=0.1", LINES],
	["", JSON_TYPE],
])("Accept: %s is answered with %s", async (accept, type) => {
	const { headers } = await app(["One"]).request("/", { headers: { accept } });
	expect(headers.get("content-type")?.split(";")[0]).toBe(type);
	expect(headers.get("vary")).toBe("Accept");
});

test("in a CSV file, a text that a spreadsheet would take for a formula begins with an apostrophe", async () => {
	const names = ["=1+1", "+1", "-1", "@SUM(1)", "\t=1", "1=1", "'=1", "＝1"];
	const read = async (accept: string) =>
		(await (await app(names).request("/", { headers: { accept } })).text()).trim().split(/\r?\n/);
	expect(await read(CSV)).toEqual([
		"name",
		...["'=1+1", "'+1", "'-1", "'@SUM(1)", "\"'\t'=1\"", "1=1", "'=1", "'＝1"],
	]);
	const lines = await read(LINES);
	expect(lines.map((line) => JSON.parse(line).name)).toEqual(names);
});
