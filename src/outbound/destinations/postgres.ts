import * as z from "zod";
import { boolean, integer, rawText, text } from "../../http/fields.ts";
import { filters, host } from "./fields.ts";

/** The maximum length of an identifier. PostgreSQL cuts off the rest. */
const MAX_IDENTIFIER_BYTES = 63;

const identifier = () =>
	text(MAX_IDENTIFIER_BYTES)
		.min(1)
		.refine((value) => Buffer.byteLength(value) <= MAX_IDENTIFIER_BYTES, {
			error: `A name in PostgreSQL has at most ${MAX_IDENTIFIER_BYTES} bytes.`,
		});

/** The config of a PostgreSQL destination (docs/exports.md#destinations). */
export const config = z.object({
	user: rawText(255).min(1),
	password: rawText(4096).min(1),
	host,
	database: text(255).min(1),
	port: integer(1, 65535).nullish(),
	schema: identifier().nullish(),
	table_name: identifier().nullish(),
	has_self_signed_cert: boolean().nullish(),
	...filters,
});

export const SECRETS = ["user", "password"];

/** The default port of PostgreSQL. */
export const POSTGRES_PORT = 5432;
