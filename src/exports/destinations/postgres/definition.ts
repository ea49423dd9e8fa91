import * as z from "zod";
import { boolean, integer, rawText, text } from "../../../http/fields.ts";
import { define } from "../definition.ts";
import { filters, host, TABLE } from "../fields.ts";

/** The maximum length of an identifier. PostgreSQL cuts off the rest ("Identifiers and Key Words"). */
const MAX_IDENTIFIER_BYTES = 63;

const identifier = () =>
	text(MAX_IDENTIFIER_BYTES)
		.min(1)
		.refine((value) => Buffer.byteLength(value) <= MAX_IDENTIFIER_BYTES, {
			error: `A name in PostgreSQL has at most ${MAX_IDENTIFIER_BYTES} bytes.`,
		});

export const PORT = 5432;

const config = z.object({
	user: rawText(255).min(1).describe("The user to sign in as."),
	password: rawText(4096).min(1).describe("The user's password."),
	host: host.describe("The server's host."),
	database: text(255).min(1).describe("The database."),
	port: integer(1, 65535).nullish().describe(`The server's port; ${PORT} by default.`),
	schema: identifier().nullish().describe("The schema of the table; `public` by default."),
	table_name: identifier().nullish().describe(TABLE),
	has_self_signed_cert: boolean()
		.nullish()
		.describe("Not supported: all certificates are verified, and self-signed ones are rejected."),
	...filters,
});

export type Settings = z.output<typeof config>;

/** Names that every PostgreSQL table has ("System Columns"). */
const SYSTEM_COLUMNS = ["tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"];

export const postgres = define({
	title: "PostgreSQL",
	kind: "database",
	config,
	place: "host",
	secrets: ["user", "password"],
	server: ({ host, port = PORT }) => `${host}:${port}`,
	test: ["reach", "sign in", "write", "remove"],
	whyNotColumns(names) {
		const long = names.find((name) => Buffer.byteLength(name) > MAX_IDENTIFIER_BYTES);
		if (long !== undefined)
			return `PostgreSQL column names have at most ${MAX_IDENTIFIER_BYTES} bytes: use AS with a shorter name than ${long}.`;
		const system = names.find((name) => SYSTEM_COLUMNS.includes(name));
		return system === undefined
			? null
			: `Every PostgreSQL table has a system column ${system}: use AS with another name.`;
	},
});
