import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { batchExportRuns } from "../../../src/db/schema/batch_exports.ts";
import { runDueExports as tick } from "../../../src/exports/engine/schedule.ts";
import { fill } from "../../support/events.ts";
import { duckdb, listR2 } from "../../support/exporting.ts";
import { db, rowIdOf, world } from "../../support/world.ts";
import { atPart, carried, fetched, HOUR, range, UNSTARTED } from "../engine/running.ts";

test("a one-off export whose run is killed between two parts has one whole file, and leaves no upload", async () => {
	const { project, here } = await world();
	await fill(project, 120, { ...range, padding: 100_000 });
	const { body: made } = await here("POST", "/batch_exports/one_off", {
		body: { ...HOUR, file_format: "CSV" },
		...UNSTARTED,
	});
	const run = { batch_export_id: await rowIdOf(made.batch_export), run_id: made.id, lease: 1 };
	const lease = (lease: number) =>
		db
			.update(batchExportRuns)
			.set({ lease, lease_expires_at: "9999-12-31T23:59:59.999Z" })
			.where(eq(batchExportRuns.id, made.id));
	await lease(1);
	await carried(
		run,
		atPart(2, async () => {
			await lease(2);
			throw new Error("Killed.");
		}),
	);
	expect(await listR2(`${project}/`)).toEqual([]);
	expect(await carried({ ...run, lease: 2 })).toBeNull();
	const path = `/batch_exports/${made.batch_export}/runs/${made.id}/files`;
	const { results } = (await here("GET", `${path}/`)).body;
	expect(results).toMatchObject([{ rows: 120 }]);
	const [key = ""] = await listR2(`${project}/`);
	const [counted] = await duckdb(
		await fetched(key),
		"select count(distinct uuid) as n from read_csv(PATH, header = true, all_varchar = true)",
	);
	expect(Number(counted?.n)).toBe(120);
	await tick(env, Date.now() + 7.1 * 86_400_000);
	expect(await listR2(`${project}/`)).toEqual([]);
});
