import type { SQL } from "drizzle-orm";
import * as z from "zod";
import type { Entry } from "../db/record.ts";
import { email, name, normalizeAddress, set, text, uuid } from "../http/fields.ts";
import { METHODS } from "../people/connections.ts";
import { create as newKey } from "../people/personal_api_keys/shape.ts";

const PLUGIN_LEVELS = ["0", "3", "6", "9"];

export const bootstrap = z.object({
	email: email(),
	organization: name(64).default("My organization"),
});
export const keyCreate = z.object({
	label: newKey.shape.label,
	scopes: newKey.shape.scopes,
	expires_at: newKey.shape.expires_at,
	email: email(),
});
export const keyRevoke = z.object({ id: uuid() });
/** Options of commands about the user with this email address. */
export const user = z.object({ email: email() });
export const userUnlink = user.extend({ connection: text(50).min(1).optional() });
export const organizationSet = z.object({
	id: uuid(),
	plugins_access_level: z.enum(PLUGIN_LEVELS).transform(Number).optional(),
	features: set(text(200).min(1), 100).optional(),
	customer_id: text(200).optional(),
});
/** Options of commands about the domain with this name. */
export const domain = z.object({ domain: text(128).min(1).overwrite(normalizeAddress) });
export const domainEnforce = domain.extend({
	sso: z.enum(METHODS),
});
export const list = z.object({
	limit: z.coerce.number().int().min(1).max(1000).default(100),
});

export const databaseBatch = z.object({
	statements: z.array(
		z.object({
			sql: z.string(),
			values: z.array(z.union([z.string(), z.number(), z.null()])).default([]),
		}),
	),
});
const place = z.object({ table: z.string(), row: z.string(), field: z.string() });
export const secretsOpen = z.object({
	/** A public key (RFC 7517). */
	jwk: z.looseObject({ kty: z.enum(["EC", "OKP"]) }),
	/** Without a place, `sealed` is a plain text. */
	secrets: z.array(z.object({ place: place.optional(), sealed: z.string() })),
});
export const secretsSeal = z.object({
	secrets: z.array(z.object({ place, secret: z.string() })),
});

/** The outcome of a command: its result, or a message that tells the operator what to correct. */
export type Outcome = { result: Record<string, unknown> } | { error: string };

/** An entry without a user, in the log of an organization; null: in no log. */
type OperatorEntry = Entry & { organization: number | SQL | null };

/** Returns an entry by the operator. */
export const byOperator = <E extends OperatorEntry>(entry: E) => ({
	...entry,
	trigger: { job: "operator", ...entry.trigger },
	user_id: null,
	project: null,
});

/** An error that the operator can correct, such as an unknown email address or id. */
export class OperatorError extends Error {}

export const DEACTIVATED = "The user with this email address is deactivated.";

/** Returns the row. Throws OperatorError if there is none. */
export function required<T>(row: T | undefined, what: string): T {
	if (row === undefined) throw new OperatorError(`There is no ${what}.`);
	return row;
}
