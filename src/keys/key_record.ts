import * as z from "zod";
import { lazy } from "../lib/lazy.ts";

/** A key's record in KV, under `key:<SHA-256 of its value>` (docs/keys.md#the-kv-record). */
export const keyRecord = lazy(() =>
	z.object({
		id: z.string(),
		user_id: z.int(),
		scopes: z.array(z.string()),
		/** Empty: all. */
		organizations: z.array(z.string()),
		/** Empty: all. */
		projects: z.array(z.int()),
		/** IP addresses and CIDR ranges that the key can be used from. Empty or missing: all. */
		allowed_ips: z.array(z.string()).default([]),
		/** ISO 8601; null: never. */
		expires_at: z.string().nullable(),
		/** The API version that the key was created with. Missing: the first version. */
		version: z.string().optional(),
		/** The resource of an app's key (src/keys/audience.ts). Missing for other keys. */
		audience: z.string().optional(),
	}),
);
export type Key = z.infer<ReturnType<typeof keyRecord>>;
