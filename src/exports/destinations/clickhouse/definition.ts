import * as z from "zod";
import { rawText, text, url } from "../../../http/fields.ts";
import { define, originOf } from "../definition.ts";
import { filters, TABLE } from "../fields.ts";

const config = z.object({
	url: url()
		.refine((value) => !value.includes("#"), {
			error: "The URL of a server can't have a fragment.",
		})
		.describe("The URL of the server's HTTP interface."),
	database: text(255).min(1).describe("The database."),
	user: rawText(255)
		.min(1)
		.regex(/^[^:]*$/, "A user name can't have a colon over HTTP.")
		.nullish()
		.describe("The user to sign in as; `default` by default."),
	password: rawText(4096).min(1).nullish().describe("The user's password."),
	table_name: text(255).min(1).nullish().describe(TABLE),
	...filters,
});

export type Settings = z.output<typeof config>;

export const clickhouse = define({
	title: "ClickHouse",
	kind: "database",
	config,
	place: "url",
	secrets: ["password"],
	server: ({ url }) => originOf(url),
	test: ["reach", "sign in", "write"],
});
