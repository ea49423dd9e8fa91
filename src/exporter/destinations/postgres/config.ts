import * as z from "zod";
import { boolean, integer, rawText, text } from "../../../http/fields.ts";
import { filters, host } from "../fields.ts";

/** The config of a PostgreSQL destination (docs/exports.md#destinations). */
export const config = z.object({
	user: rawText(255).min(1),
	password: rawText(4096).min(1),
	host,
	database: text(255).min(1),
	port: integer(1, 65535).nullish(),
	schema: text(63).min(1).nullish(),
	table_name: text(63).min(1).nullish(),
	has_self_signed_cert: boolean().nullish(),
	...filters,
});

export const SECRETS = ["user", "password"];

/** The default port of PostgreSQL. */
export const POSTGRES_PORT = 5432;
