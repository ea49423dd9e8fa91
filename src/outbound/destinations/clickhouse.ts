import * as z from "zod";
import { rawText, text } from "../../http/fields.ts";
import { filters, url } from "./fields.ts";

/** The config of a ClickHouse destination (docs/exports.md#destinations). */
export const config = z.object({
	url: url().refine((value) => !value.includes("#"), {
		error: "The URL of a server can't have a fragment.",
	}),
	database: text(255).min(1),
	user: rawText(255)
		.min(1)
		.regex(/^[^:]*$/, "A user name can't have a colon over HTTP.")
		.nullish(),
	password: rawText(4096).min(1).nullish(),
	table_name: text(255).min(1).nullish(),
	...filters,
});

export const SECRETS = ["password"];
