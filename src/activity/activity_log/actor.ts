/** Who caused an entry, and from where (docs/audit.md#who-acted-and-from-where). */
import { sql } from "drizzle-orm";
import * as z from "zod";
import { isOpened } from "../../access/access_levels.ts";
import type { Tenant } from "../../access/tenant.ts";
import { ACCESS_LEVELS, ADMIN } from "../../db/schema/levels.ts";
import { KEY_KINDS, type Origin } from "../../db/schema/origin.ts";
import { members } from "../../db/schema/people.ts";
import { explain } from "../../http/fields.ts";

const ACTOR_TYPES = ["person", "service_account", "app", "operator", "system", "plugin"] as const;

const Key = z.object({
	id: z.guid().describe("The key's id."),
	kind: explain(z.enum(KEY_KINDS), "The kind of the key.", {
		api_key: "a personal API key, or one of a service account.",
		session: "the session of somebody who signed in to the console.",
		app: "the access that a person gave to an app.",
		scim_token: "the SCIM token of an identity provider.",
	}),
	label: z
		.string()
		.nullable()
		.describe(
			"The key's label when it was used, at most 24 bytes of it; for an app, its name. Null for a session.",
		),
});

/** The fields of an actor that the log and the feed have in common. */
export const actorFields = {
	uuid: z.guid().nullable().describe("The uuid of the user or service account; null for others."),
	first_name: z
		.string()
		.nullable()
		.describe(
			"The user's first name or the service account's name, as it is now; null for others.",
		),
	email: z.email().nullable().describe("The user's email address, as it is now; null for others."),
	key: Key.nullable().describe(
		"The key that was used. Null if there was none, such as for a sign-in, and for entries that were made before keys were noted.",
	),
};

export const Actor = z.object({
	type: explain(z.enum(ACTOR_TYPES), "The kind of the actor.", {
		person: "a person, with a key or session of theirs, or by signing in.",
		service_account: "a service account, with one of its keys.",
		app: "an app: one to which a person gave access, or an identity provider, through SCIM.",
		operator: "the operator of the service.",
		system: "the service itself, or somebody unknown, who couldn't sign in.",
		plugin: "a plugin, in a job.",
	}),
	...actorFields,
});

/** Where a request came from. */
export const OriginShape = z.object({
	address: z
		.string()
		.nullable()
		.describe("The IP address; null if it is unknown, or the organization doesn't keep addresses."),
	country: z
		.string()
		.nullable()
		.describe(
			"The country of the address, as two letters (ISO 3166-1); `T1` for Tor. Null if it is unknown.",
		),
	user_agent: z
		.string()
		.nullable()
		.describe(
			"The client: the name and version of a browser and its system, or the start of the header `User-Agent`. Null if there was none.",
		),
	request_id: z
		.string()
		.nullable()
		.describe("The `X-Request-Id` of the response, at most 36 characters of it."),
});

export const ORIGIN_TEXT =
	"Where the request came from. Null for entries without a request, and for the requests of others if you aren't an admin.";

/** The columns of a row that say who caused it. */
type Caused = {
	user: {
		uuid: string;
		first_name: string;
		email: string;
		is_service_account: boolean;
	} | null;
	is_system: boolean;
	scope: string;
	trigger: Record<string, unknown> | null;
	origin: Origin | null;
};

function typeOf({ user, is_system, scope, trigger, origin }: Caused): (typeof ACTOR_TYPES)[number] {
	if (user?.is_service_account) return "service_account";
	if (user) return origin?.key?.kind === "app" ? "app" : "person";
	if (is_system) return scope === "PluginJob" ? "plugin" : "system";
	if (trigger?.job_type === "scim") return "app";
	// Nobody knows who failed to sign in.
	return scope === "SignIn" ? "system" : "operator";
}

/** Returns the actor of an entry. */
export function actorOf(row: Caused): z.infer<typeof Actor> {
	const { user } = row;
	return {
		type: typeOf(row),
		uuid: user?.uuid ?? null,
		first_name: user?.first_name ?? null,
		// The email address in a service account's row doesn't exist.
		email: user && !user.is_service_account ? user.email : null,
		key: row.origin?.key ?? null,
	};
}

/** The last columns of CSV files (docs/events.md#downloads). */
export const originCells = {
	key_id: ({ origin }: Pick<Caused, "origin">) => origin?.key?.id ?? null,
	key_kind: ({ origin }: Pick<Caused, "origin">) => origin?.key?.kind ?? null,
	key_label: ({ origin }: Pick<Caused, "origin">) => origin?.key?.label ?? null,
	address: ({ origin }: Pick<Caused, "origin">) => origin?.request?.address ?? null,
	country: ({ origin }: Pick<Caused, "origin">) => origin?.request?.country ?? null,
	user_agent: ({ origin }: Pick<Caused, "origin">) => origin?.request?.user_agent ?? null,
	request_id: ({ origin }: Pick<Caused, "origin">) => origin?.request?.request_id ?? null,
};

/** What an auditor has: access to the activity log that was given to them. */
const AUDIT = { resource: "activity_log", id: null, need: ACCESS_LEVELS.viewer } as const;

/** Whether the caller may see where the requests of others came from: admins and auditors. */
export const seesOrigins = ({ caller }: Tenant) =>
	(caller.member_level ?? 0) >= ADMIN || isOpened(caller.access.controls, AUDIT);

/** `seesOrigins` in SQL. */
export const seesOriginsIn = ({ organization, key }: Tenant) => sql`exists (
	select 1 from ${members} where ${members.organization_id} = ${organization} and ${members.user_id} = ${key.user_id}
		and (${members.level} >= ${ADMIN} or ${members.access} ->> '*' >= ${AUDIT.need} or ${members.access} ->> 'activity_log' >= ${AUDIT.need}))`;

/**
 * Returns a function that removes from an entry where its request came from, unless the caller may
 * see it. To be called after the first read.
 */
export function showOrigins(tenant: Tenant) {
	const isAll = seesOrigins(tenant);
	const mine = tenant.caller.user_uuid;
	return <R extends Pick<Caused, "user" | "origin">>(row: R): R =>
		isAll || row.user?.uuid === mine || row.origin === null
			? row
			: { ...row, origin: { ...row.origin, request: null } };
}
