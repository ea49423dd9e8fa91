import { and, eq, sql } from "drizzle-orm";
import { v7 } from "uuid";
import type * as z from "zod";
import { cache, digest, evict, type Key, mask, mint } from "../auth/keys.ts";
import { changes } from "../db/changes.ts";
import { inList, insertWhere } from "../db/client.ts";
import { counter } from "../db/list.ts";
import { members, now, personalApiKeys, projects, users } from "../db/schema.ts";
import { doesNotExist, forbidden, found, invalid } from "../http/errors.ts";
import { mapResults, type Page } from "../http/page.ts";
import { grants } from "../tenant/scopes.ts";
import type { Tenant } from "../tenant/tenant.ts";
import { visibleTo } from "../tenant/visible.ts";
import { type create, toPersonalApiKey, type update as Update } from "./shape.ts";

const MAX_KEYS = 25;

const select = ({ db }: Tenant) => db.select().from(personalApiKeys);

type Row = Awaited<ReturnType<typeof select>>[number];

/** WHERE clause: the caller's key with this id; `@current` is the key in use. */
const byId = ({ key }: Tenant, id: string) =>
	and(
		eq(personalApiKeys.user_id, key.user_id),
		eq(personalApiKeys.id, id === "@current" ? key.id : id.toLowerCase()),
	);

/** Newest first. */
export const list = async (tenant: Tenant, page: Page) =>
	mapResults(
		await tenant.page(page, () => select(tenant).$dynamic(), {
			where: eq(personalApiKeys.user_id, tenant.key.user_id),
			by: [personalApiKeys.id],
			keys: ({ id }) => [id],
			total: counter(users.personal_api_keys, tenant.key.user_id),
		}),
		toPersonalApiKey,
	);

export async function find(tenant: Tenant, id: string) {
	const [[row]] = await tenant.read(select(tenant).where(byId(tenant, id)));
	return row && toPersonalApiKey(row);
}

/** What a key allows. */
type Grants = Pick<Row, "scopes" | "scoped_organizations" | "scoped_projects" | "expires_at">;

const grantsOf = (body: z.infer<typeof Update>, before?: Grants): Grants => ({
	scopes: body.scopes ?? before?.scopes ?? [],
	scoped_organizations: body.scoped_organizations ?? before?.scoped_organizations ?? [],
	scoped_projects: body.scoped_projects ?? before?.scoped_projects ?? [],
	expires_at: body.expires_at === undefined ? (before?.expires_at ?? null) : body.expires_at,
});

/**
 * Whether a key restricted to `list` reaches no more than one restricted to `limit`. An empty list
 * is no restriction.
 */
const isWithin = <T>(list: T[], limit: T[]) =>
	limit.length === 0 || (list.length > 0 && list.every((id) => limit.includes(id)));

/**
 * @throws 403 unless the key in use has all the access that `granted` gives, for at least as long
 */
function assertMayGrant({ caller: { key } }: Tenant, granted: Grants) {
	const isAllowed =
		granted.scopes.every((scope) => grants(key.scopes, scope)) &&
		isWithin(granted.scoped_organizations, key.organizations) &&
		isWithin(granted.scoped_projects, key.projects) &&
		(key.expires_at === null ||
			(granted.expires_at !== null && granted.expires_at <= key.expires_at));
	if (!isAllowed) throw forbidden("An API key can't give more access than it has itself.");
}

/**
 * Selects those organizations and projects of the body's restrictions that the key's owner can see.
 */
const restrictions = ({ db, key }: Tenant, body: z.infer<typeof Update>) =>
	[
		db
			.select({ id: members.organization_id })
			.from(members)
			.where(
				and(
					eq(members.user_id, key.user_id),
					inList(members.organization_id, body.scoped_organizations ?? []),
				),
			),
		db
			.select({ id: projects.id })
			.from(projects)
			.where(and(visibleTo(key.user_id), inList(projects.id, body.scoped_projects ?? []))),
	] as const;

/** @throws 400 for the first id that isn't in `visible` */
function checkRestrictions<T>(attr: string, ids: T[] | undefined, visible: { id: T }[]) {
	const visibleIds = new Set(visible.map(({ id }) => id));
	const index = ids?.findIndex((id) => !visibleIds.has(id)) ?? -1;
	if (index >= 0) throw doesNotExist(`${attr}__${index}`, ids?.[index]);
}

/** The projects of a body, and which of the two field names it uses for them. */
const projectsOf = ({ scoped_projects, scoped_teams }: z.infer<typeof Update>) =>
	scoped_projects || !scoped_teams
		? { attr: "scoped_projects", scoped_projects }
		: { attr: "scoped_teams", scoped_projects: scoped_teams };

const toRecord = (tenant: Tenant, row: Row): Key => ({
	id: row.id,
	user_id: tenant.key.user_id,
	scopes: row.scopes,
	organizations: row.scoped_organizations,
	projects: row.scoped_projects,
	expires_at: row.expires_at,
	version: row.version,
});

const entry = (tenant: Tenant, activity: string, { id, label }: Pick<Row, "id" | "label">) => ({
	activity,
	scope: "PersonalApiKey",
	item_id: id,
	name: label,
	organization: tenant.currentOrganization,
});

export async function insert(tenant: Tenant, { scoped_teams, ...fields }: z.infer<typeof create>) {
	const { attr, scoped_projects } = projectsOf({ ...fields, scoped_teams });
	const body = { ...fields, ...(scoped_projects && { scoped_projects }) };
	const [organizations, visibleProjects] = await tenant.read(...restrictions(tenant, body));
	assertMayGrant(tenant, grantsOf(body));
	checkRestrictions("scoped_organizations", body.scoped_organizations, organizations);
	checkRestrictions(attr, scoped_projects, visibleProjects);
	const value = await tenant.once(mint);
	const hash = await digest(value);
	const id = v7();
	const [row] = await tenant.write({
		entry: entry(tenant, "created", { id, label: body.label }),
		change: insertWhere(
			tenant.db,
			personalApiKeys,
			{
				...body,
				id,
				hash,
				mask_value: mask(value),
				user_id: tenant.key.user_id,
			},
			sql`(select count(*) from ${personalApiKeys} where ${eq(personalApiKeys.user_id, tenant.key.user_id)}) < ${MAX_KEYS}`,
		),
		answer: select(tenant).where(byId(tenant, id)),
	});
	if (!row) throw invalid(null, `A user can have at most ${MAX_KEYS} personal API keys.`);
	await cache(tenant.env, hash, toRecord(tenant, row));
	return toPersonalApiKey(row, value);
}

export async function update(
	tenant: Tenant,
	id: string,
	{ scoped_teams, ...fields }: z.infer<typeof Update>,
) {
	const { attr, scoped_projects } = projectsOf({ ...fields, scoped_teams });
	const body = { ...fields, ...(scoped_projects && { scoped_projects }) };
	const [[before], organizations, visibleProjects] = await tenant.read(
		select(tenant).where(byId(tenant, id)),
		...restrictions(tenant, body),
	);
	const row = found(before);
	const { label, ...access } = body;
	if (changes(row, access).length > 0) assertMayGrant(tenant, grantsOf(body, row));
	checkRestrictions("scoped_organizations", body.scoped_organizations, organizations);
	checkRestrictions(attr, scoped_projects, visibleProjects);
	const logEntry = {
		...entry(tenant, "updated", { id: row.id, label: label ?? row.label }),
		// One organization's log must not show which others the key's owner belongs to.
		masked: ["scoped_organizations", "scoped_projects"],
	};
	const after = await tenant.patch(row, body, logEntry, () => ({
		change: tenant.db.update(personalApiKeys).set(body).where(byId(tenant, row.id)),
		answer: select(tenant).where(byId(tenant, row.id)),
	}));
	await cache(tenant.env, after.hash, toRecord(tenant, after));
	return toPersonalApiKey(after);
}

export async function remove(tenant: Tenant, id: string) {
	const [[before]] = await tenant.read(select(tenant).where(byId(tenant, id)));
	const row = found(before);
	const removed = await tenant.remove(
		entry(tenant, "deleted", row),
		tenant.db
			.delete(personalApiKeys)
			.where(byId(tenant, row.id))
			.returning({ id: personalApiKeys.id }),
	);
	await evict(tenant.env, row.hash);
	found(removed);
}

/**
 * Gives the key a new value. The old one stops working at once.
 * @throws 400 if another request rolled or deleted the key first
 */
export async function roll(tenant: Tenant, id: string) {
	const [[before]] = await tenant.read(select(tenant).where(byId(tenant, id)));
	const row = found(before);
	assertMayGrant(tenant, row);
	const value = await tenant.once(mint);
	const hash = await digest(value);
	const [after] = await tenant.write({
		entry: entry(tenant, "rolled", row),
		change: tenant.db
			.update(personalApiKeys)
			.set({ hash, mask_value: mask(value), last_rolled_at: now() })
			.where(
				and(
					byId(tenant, row.id),
					// Unchanged since `assertMayGrant` checked it.
					eq(personalApiKeys.hash, row.hash),
					eq(personalApiKeys.scopes, row.scopes),
					eq(personalApiKeys.scoped_organizations, row.scoped_organizations),
					eq(personalApiKeys.scoped_projects, row.scoped_projects),
					sql`${personalApiKeys.expires_at} is ${row.expires_at}`,
				),
			),
		answer: select(tenant).where(and(byId(tenant, row.id), eq(personalApiKeys.hash, hash))),
	});
	if (!after) throw invalid(null, "The key was rolled or removed by another request.");
	await Promise.all([
		cache(tenant.env, hash, toRecord(tenant, after)),
		evict(tenant.env, row.hash),
	]);
	return toPersonalApiKey(after, value);
}
