import { expect, test } from "vitest";
import { checkQuery } from "../../../src/exports/batch_exports/rules.ts";
import { ApiError } from "../../../src/http/errors.ts";

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
	["Iceberg", "event AS a, distinct_id AS A", "so A is there twice"],
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
