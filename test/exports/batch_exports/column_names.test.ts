import { eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { batchExports } from "../../../src/db/schema/batch_exports.ts";
import { checkQuery } from "../../../src/exports/batch_exports/rules.ts";
import { ApiError } from "../../../src/http/errors.ts";
import { db, world } from "../../support/world.ts";

/** Why an export with these fields is rejected; null if it is accepted. */
function whyNot(type: string, fields: string) {
	try {
		checkQuery({
			model: "events",
			xql_query: `SELECT ${fields} FROM events`,
			destination: { type },
		});
		return null;
	} catch (error) {
		if (!(error instanceof ApiError)) throw error;
		expect(error.body.attr).toBe("xql_query");
		return error.body.detail;
	}
}

const X63 = "x".repeat(63);

test.each([
	["BigQuery", "properties.$browser", "BigQuery doesn't accept the column name $browser"],
	["BigQuery", "lower(event)", "BigQuery doesn't accept the column name lower(event)"],
	["BigQuery", 'event AS "a.b"', "the column name a.b"],
	[
		"BigQuery",
		"event AS _PARTITIONTIME",
		"reserves the beginning of the column name _PARTITIONTIME",
	],
	["BigQuery", "event AS _table_x", "reserves the beginning"],
	["BigQuery", "event AS a, distinct_id AS A", "so A is there twice"],
	["BigQuery", "event AS UUID", "so uuid is there twice"],
	["Postgres", `event AS ${X63}x`, "have at most 63 bytes"],
	["Postgres", `event AS "${"ü".repeat(32)}"`, "have at most 63 bytes"],
	["Postgres", "event AS ctid", "has a system column ctid"],
])("%s can't have the columns %s", (type, fields, why) => {
	expect(whyNot(type, fields)).toContain(why);
});

test.each([
	["BigQuery", 'event AS "größe in %", distinct_id AS _1, person_id AS "2-x"'],
	["BigQuery", `event AS ${X63}x`],
	["Postgres", `event AS ${X63}, event AS a, event AS A, properties.$browser, event AS "a.b"`],
	["ClickHouse", `event AS ${X63}x, event AS a, event AS A, event AS _table_x, lower(event)`],
	["S3", "lower(event), properties.$browser, event AS a, event AS A"],
])("%s can have the columns %s", (type, fields) => {
	expect(whyNot(type, fields)).toBeNull();
});

test("an export with names that are rejected now can still be changed otherwise", async () => {
	const { here } = await world();
	const body = {
		name: "x",
		interval: "hour",
		destination: {
			type: "Postgres",
			config: { user: "u", password: "p", host: "db.example.com", database: "d" },
		},
		xql_query: "SELECT event AS ctid FROM events",
	};
	expect(await here("POST", "/batch_exports", { body })).toMatchObject({
		status: 400,
		body: { attr: "xql_query" },
	});
	const { body: made } = await here("POST", "/batch_exports", {
		body: { ...body, xql_query: "SELECT event AS b FROM events" },
	});
	const { xql_query } = body;
	await db.update(batchExports).set({ xql_query }).where(eq(batchExports.uuid, made.id));
	const path = `/batch_exports/${made.id}`;
	expect(await here("PATCH", path, { body: { name: "y" } })).toMatchObject({ status: 200 });
	expect(await here("PATCH", path, { body: { xql_query } })).toMatchObject({ status: 400 });
});
