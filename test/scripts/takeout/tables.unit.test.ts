import { expect, test } from "vitest";
import { ALL_TABLES, LEFT_OUT, TABLES } from "../../../scripts/takeout/tables.ts";
import { Deployment } from "./deployment.ts";

test("every table is in the file, or left out for a reason", () => {
	const known = ["users", ...TABLES.map(({ name }) => name), ...Object.keys(LEFT_OUT)];
	expect(known.sort()).toEqual([...ALL_TABLES].sort());
});

test("all that refers to a user is given to them when they sign in", () => {
	const trigger = String(
		new Deployment().all("select sql from sqlite_schema where name = 'users_arrive'")[0]?.sql,
	);
	for (const { name, columns } of TABLES)
		for (const column of columns)
			if (
				["user", "users"].includes(column.way) &&
				name !== "personal_api_keys" &&
				`${name}.${column.name}` !== "service_accounts.user_id" &&
				name !== "members"
			)
				expect(trigger).toMatch(new RegExp(`UPDATE (OR IGNORE )?${name} SET ${column.name} =`));
});
