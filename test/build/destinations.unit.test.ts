import { expect, test } from "vitest";
import { destinationTypes, sinkTypes } from "../../build/destinations.ts";
import { SINKS } from "../../src/activity/audit_streams/sinks/index.ts";
import type { Configurable } from "../../src/exports/destinations/definition.ts";
import { DESTINATIONS } from "../../src/exports/destinations/index.ts";

const settingsIn = (types: ReturnType<typeof destinationTypes>) =>
	Object.fromEntries(Object.entries(types).map(([type, { settings }]) => [type, settings]));

const settings = settingsIn(destinationTypes());
const ofSinks = settingsIn(sinkTypes());

test.each([
	["exports", settings, DESTINATIONS],
	["audit streams", ofSinks, SINKS],
] satisfies [string, typeof settings, Record<string, Configurable>][])(
	"the console's forms have each setting of each destination of %s, and mask every secret",
	(_, settings, definitions) => {
		expect(Object.keys(settings).sort()).toEqual(Object.keys(definitions).sort());
		for (const [type, { config, secrets }] of Object.entries(definitions)) {
			const fields = settings[type] ?? [];
			expect(fields.map(({ name }) => name).sort(), type).toEqual(Object.keys(config.shape).sort());
			const masked = fields.filter(({ kind }) => kind === "secret").map(({ name }) => name);
			expect(masked.sort(), type).toEqual([...secrets].sort());
		}
	},
);

test("the settings of a destination have descriptions of their own", () => {
	for (const [type, fields] of [...Object.entries(settings), ...Object.entries(ofSinks)]) {
		const descriptions = fields.map(({ description }) => description);
		expect(new Set(descriptions).size, type).toBe(descriptions.length);
	}
});

test("settings say what holds without them, and which texts may be empty", () => {
	const one = (type: string, name: string) => settings[type]?.find((field) => field.name === name);
	expect(one("Postgres", "port")).toMatchObject({ kind: "number", otherwise: "5432" });
	expect(one("R2", "max_file_size_mb")).toMatchObject({ otherwise: "one file per run" });
	expect(one("R2", "prefix")).toMatchObject({ isRequired: true, mayBeEmpty: true });
	expect(one("S3", "bucket_name")).not.toHaveProperty("mayBeEmpty");
	expect(one("BigQuery", "private_key")).toMatchObject({ kind: "secret", isLong: true });
});
