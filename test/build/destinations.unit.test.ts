import { expect, test } from "vitest";
import { destinationTypes } from "../../build/destinations.ts";
import { DESTINATIONS, secretsOf, TYPES } from "../../src/exports/destinations/index.ts";

const types = destinationTypes();
const settings = Object.fromEntries(
	Object.entries(types).map(([type, { settings }]) => [type, settings]),
);

test("the console's forms have each setting of each destination, and mask every secret", () => {
	expect(Object.keys(settings).sort()).toEqual([...TYPES].sort());
	for (const type of TYPES) {
		const fields = settings[type] ?? [];
		expect(fields.map(({ name }) => name).sort(), type).toEqual(
			Object.keys(DESTINATIONS[type].config.shape).sort(),
		);
		const masked = fields.filter(({ kind }) => kind === "secret").map(({ name }) => name);
		expect(masked.sort(), type).toEqual([...secretsOf(type)].sort());
	}
});

test("the settings of a destination have descriptions of their own", () => {
	for (const [type, fields] of Object.entries(settings)) {
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
