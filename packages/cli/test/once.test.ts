import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { expect, onTestFinished, test } from "vitest";
import { tenantry } from "./program.ts";

function folder() {
	const path = mkdtempSync(`${tmpdir()}/tenantry-once-`);
	onTestFinished(() => rmSync(path, { recursive: true, force: true }));
	return path;
}

const once = (...words: string[]) => tenantry(["exports", "once", "--interval", "0.2", ...words]);

const RANGE = ["--after", "2026-01-01T00:00:00Z", "--before", "2026-01-02T00:00:00Z"];

test("a range is exported and downloaded, as a spreadsheet opens it", async () => {
	const own = crypto.randomUUID();
	const at = "2026-01-01T00:30:00Z";
	const events = ["=1+1", "你"].map((distinct_id) => ({ event: own, distinct_id, timestamp: at }));
	expect(await tenantry(["events", "ingest", "--data", JSON.stringify(events)])).toMatchObject({
		code: 0,
	});
	const to = folder();
	const filters = ["--include-events", own, "--query", "SELECT distinct_id FROM events"];
	const { code, out, err } = await once(
		...[...RANGE, ...filters, "--format", "csv", "--output", to, "--json"],
	);
	expect([code, err]).toEqual([0, expect.stringContaining("Completed: 2 of 2 rows\n")]);
	const [name = ""] = readdirSync(to);
	expect(JSON.parse(out)).toMatchObject([{ name, rows: 2 }]);
	expect(name).toBe("events_2026-01-01T000000.000Z-2026-01-02T000000.000Z.csv");
	const [header, ...rows] = readFileSync(`${to}/${name}`, "utf8").trim().split("\r\n");
	expect(header).toMatch(/^\uFEFF?distinct_id$/);
	expect(rows.sort()).toEqual(["'=1+1", "你"]);
});

test("of an empty range, nothing is written", async () => {
	const to = folder();
	const none = ["--include-events", crypto.randomUUID()];
	const { code, err } = await once("--after", "-1h", ...none, "--output", to);
	expect([code, err]).toEqual([0, expect.stringContaining("There are no rows in this range.\n")]);
	expect(readdirSync(to)).toEqual([]);
});

test("bad options are refused", async () => {
	expect(await once()).toMatchObject({ code: 2, err: expect.stringContaining("--after") });
	const future = await once("--after", "-1d", "--before", "2999-01-01T00:00:00Z");
	expect(future).toMatchObject({
		code: 1,
		err: expect.stringContaining("must not be in the future"),
	});
	const unknown = await once("--after", "-1d", "--format", "xlsx");
	expect(unknown).toMatchObject({ code: 1, err: expect.stringContaining("file_format") });
});
