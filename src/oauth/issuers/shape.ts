import * as z from "zod";
import { scopes } from "../../access/scopes.ts";
import { integer, issue, name, record, set, text, timestamp } from "../../http/fields.ts";
import { documentAs } from "../../http/router.ts";
import { INVALID_ISSUER, isIssuer } from "../../organizations/domains/issuer.ts";
import { isSubject } from "./subject.ts";

/** docs/oauth.md#jobs-without-keys. */
export const TrustedIssuer = z
	.object({
		id: z.guid(),
		name: z.string(),
		issuer: z.string(),
		audience: z.string(),
		subject: z.string(),
		claims: z.record(z.string(), z.string()),
		scopes: z.array(documentAs(z.string(), z.enum(scopes))),
		scoped_projects: z.array(z.int()),
		created_at: timestamp(),
		last_used_at: timestamp().nullable(),
	})
	.meta({ id: "TrustedIssuer" });

const MAX_CLAIMS = 20;

const claims = record(text(500), text(100).min(1)).check(({ value, issues }) => {
	if (Object.keys(value).length > MAX_CLAIMS)
		issues.push(
			issue(value, "max_length", `Ensure this field has no more than ${MAX_CLAIMS} elements.`),
		);
});

export const create = z.object({
	name: name(40),
	issuer: text(512).refine(isIssuer, { error: INVALID_ISSUER }),
	audience: text(500).min(1).optional(),
	subject: text(500).min(1).refine(isSubject, {
		error: "A * can only be at the end, after two parts that end with : or /.",
	}),
	claims: claims.optional(),
	scopes: set(text().pipe(z.enum(scopes)), 100).min(1),
	scoped_projects: set(integer(), 100).optional(),
});

export const update = create.partial();
