import * as z from "zod";
import { filters, header, url } from "./fields.ts";

/** The config of an HTTP destination (docs/exports.md#destinations). */
export const config = z.object({
	url: url(),
	token: header(4096).min(1).nullish(),
	...filters,
});

export const SECRETS = ["token"];
