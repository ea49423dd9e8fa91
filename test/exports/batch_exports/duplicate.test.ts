import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { batchExports } from "../../../src/db/schema/batch_exports.ts";
import { exportCipher, opened } from "../../../src/exports/destinations/secrets.ts";
import { db, world } from "../../support/world.ts";

const POSTGRES = {
	type: "Postgres",
	config: { user: "u", password: "secret", host: "db.test", database: "d" },
};

async function exporting() {
	const home = await world();
	const body = { name: "Orders", interval: "hour", destination: POSTGRES };
	const { body: made } = await home.here("POST", "/batch_exports", { body });
	return { ...home, made, path: `/batch_exports/${made.id}` };
}

test("a copy has the secrets of the export, is paused, and stands where the export stands", async () => {
	const { here, path, made } = await exporting();
	const { status, body: copy } = await here("POST", `${path}/duplicate`);
	expect([status, copy]).toMatchObject([
		201,
		{ name: "Orders (copy)", paused: true, team_id: made.team_id, latest_runs: [] },
	]);
	expect(copy.id).not.toBe(made.id);
	expect(JSON.stringify(copy)).not.toContain("secret");
	const rowOf = async (id: string) =>
		(await db.select().from(batchExports).where(eq(batchExports.uuid, id)))[0];
	const [before, after] = [await rowOf(made.id), await rowOf(copy.id)];
	if (!before || !after) throw new Error("An export is gone.");
	expect(after.next_start_at).toBe(before.next_start_at);
	expect(JSON.stringify(after.destination)).not.toContain("secret");
	const { config } = await opened(exportCipher(env, { id: copy.id }), after.destination);
	expect(config).toEqual(POSTGRES.config);
	const { results } = (await here("GET", "/activity_log?scope=BatchExport")).body;
	expect(results[0]).toMatchObject({ activity: "created", item_id: copy.id });
	expect(JSON.stringify(results)).not.toContain("secret");
});

test("a copy can have another name and destination; another server needs the secrets again", async () => {
	const { here, path } = await exporting();
	const copy = (config: object) =>
		here("POST", `${path}/duplicate`, { body: { name: "Moved", destination: { config } } });
	expect(await copy({ database: "other" })).toMatchObject({
		status: 201,
		body: { name: "Moved", destination: { config: { host: "db.test", database: "other" } } },
	});
	expect((await copy({ host: "attacker.test" })).status).toBe(400);
	expect((await copy({ host: "new.test", user: "v", password: "other" })).status).toBe(201);
});

test("nobody copies the export of another organization", async () => {
	const { path } = await exporting();
	const { here } = await world();
	expect((await here("POST", `${path}/duplicate`)).status).toBe(404);
});
