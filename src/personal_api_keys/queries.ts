import { and, eq, sql } from "drizzle-orm";
import { v7 } from "uuid";
import type * as z from "zod";
import { cache, digest, evict, type Key, mask, mint } from "../auth/keys.ts";
import { changes } from "../db/changes.ts";
import { inList, insertWhere } from "../db/client.ts";
import { members, now, personalApiKeys, projects } from "../db/schema.ts";
import { doesNotExist, forbidden, found, invalid } from "../http/errors.ts";
import { mapResults, type Page } from "../http/page.ts";
import { grants } from "../tenant/scopes.ts";
import type { Tenant } from "../tenant/tenant.ts";
import { visibleTo } from "../tenant/visible.ts";
import { type create, toPersonalApiKey, type update as Update } from "./shape.ts";

const MAX_KEYS = 25;

const select = ({ db }: Tenant) => db.select().from(personalApiKeys);

type Row = Awaited<ReturnType<typeof select>>[number];

/** The caller's key of this id; `@current` is the one in use. */
const ownKeys = ({ key }: Tenant, id: string) =>
	and(
		eq(personalApiKeys.user_id, key.user_id),
		eq(personalApiKeys.id, id === "@current" ? key.id : id.toLowerCase()),
	);

/** Newest first. */
export const list = async (tenant: Tenant, page: Page) =>
	mapResults(
		await tenant.page(page, select(tenant).$dynamic(), {
			where: eq(personalApiKeys.user_id, tenant.key.user_id),
			by: [personalApiKeys.id],
			keys: ({ id }) => [id],
		}),
		toPersonalApiKey,
	);

export async function find(tenant: Tenant, id: string) {
	const [[row]] = await tenant.read(select(tenant).where(ownKeys(tenant, id)));
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

/** Whether a restriction to `list` lets in no more than one to `limit` does; empty: not restricted. */
const isWithin = <T>(list: T[], limit: T[]) =>
	limit.length === 0 || (list.length > 0 && list.every((id) => limit.includes(id)));

/** Throws unless the key in use may itself do all that `given` would allow, and for as long. */
function assertWithinOwn({ caller: { key } }: Tenant, given: Grants) {
	const inside =
		given.scopes.every((scope) => grants(key.scopes, scope)) &&
		isWithin(given.scoped_organizations, key.organizations) &&
		isWithin(given.scoped_projects, key.projects) &&
		(key.expires_at === null || (given.expires_at !== null && given.expires_at <= key.expires_at));
	if (!inside) throw forbidden("An API key can't give more access than it has itself.");
}

/** The statements that find those of a body's restrictions that its owner can see. */
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

/** Throws for the first of `wanted` that is not among `seen`. */
function checkRestrictions<T>(attr: string, wanted: T[] | undefined, seen: { id: T }[]) {
	const there = new Set(seen.map(({ id }) => id));
	const at = wanted?.findIndex((id) => !there.has(id)) ?? -1;
	if (at >= 0) throw doesNotExist(`${attr}__${at}`, wanted?.[at]);
}

/** The projects of a body, and under which of their two names it has them. */
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
});

const entry = (tenant: Tenant, activity: string, { id, label }: Pick<Row, "id" | "label">) => ({
	activity,
	scope: "PersonalApiKey",
	item_id: id,
	name: label,
	organization: tenant.currentOrganization,
});

export async function insert(tenant: Tenant, { scoped_teams, ...given }: z.infer<typeof create>) {
	const { attr, scoped_projects } = projectsOf({ ...given, scoped_teams });
	const body = { ...given, ...(scoped_projects && { scoped_projects }) };
	const [organizations, seen] = await tenant.read(...restrictions(tenant, body));
	assertWithinOwn(tenant, grantsOf(body));
	checkRestrictions("scoped_organizations", body.scoped_organizations, organizations);
	checkRestrictions(attr, scoped_projects, seen);
	const value = mint();
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
		answer: select(tenant).where(ownKeys(tenant, id)),
	});
	if (!row) throw invalid(null, `A user can have at most ${MAX_KEYS} personal API keys.`);
	await cache(tenant.env, hash, toRecord(tenant, row));
	return toPersonalApiKey(row, value);
}

export async function update(
	tenant: Tenant,
	id: string,
	{ scoped_teams, ...given }: z.infer<typeof Update>,
) {
	const { attr, scoped_projects } = projectsOf({ ...given, scoped_teams });
	const body = { ...given, ...(scoped_projects && { scoped_projects }) };
	const [[before], organizations, seen] = await tenant.read(
		select(tenant).where(ownKeys(tenant, id)),
		...restrictions(tenant, body),
	);
	const row = found(before);
	const { label, ...powers } = body;
	if (changes(row, powers).length > 0) assertWithinOwn(tenant, grantsOf(body, row));
	checkRestrictions("scoped_organizations", body.scoped_organizations, organizations);
	checkRestrictions(attr, scoped_projects, seen);
	const told = {
		...entry(tenant, "updated", { id: row.id, label: label ?? row.label }),
		// The log is the organization's; what else the key's owner belongs to is not.
		masked: ["scoped_organizations", "scoped_projects"],
	};
	const after = await tenant.patch(row, body, told, () => ({
		change: tenant.db.update(personalApiKeys).set(body).where(ownKeys(tenant, row.id)),
		answer: select(tenant).where(ownKeys(tenant, row.id)),
	}));
	await cache(tenant.env, after.hash, toRecord(tenant, after));
	return toPersonalApiKey(after);
}

export async function remove(tenant: Tenant, id: string) {
	const [[before]] = await tenant.read(select(tenant).where(ownKeys(tenant, id)));
	const row = found(before);
	const removed = await tenant.remove(
		entry(tenant, "deleted", row),
		tenant.db
			.delete(personalApiKeys)
			.where(ownKeys(tenant, row.id))
			.returning({ id: personalApiKeys.id }),
	);
	await evict(tenant.env, row.hash);
	found(removed);
}

/** A new value for the key; the old one is refused from now on. Of two racing rolls one is refused. */
export async function roll(tenant: Tenant, id: string) {
	const [[before]] = await tenant.read(select(tenant).where(ownKeys(tenant, id)));
	const row = found(before);
	assertWithinOwn(tenant, row);
	const value = mint();
	const hash = await digest(value);
	const [after] = await tenant.write({
		entry: entry(tenant, "rolled", row),
		change: tenant.db
			.update(personalApiKeys)
			.set({ hash, mask_value: mask(value), last_rolled_at: now() })
			.where(
				and(
					ownKeys(tenant, row.id),
					// Still what was found to be within the power of the key in use.
					eq(personalApiKeys.hash, row.hash),
					eq(personalApiKeys.scopes, row.scopes),
					eq(personalApiKeys.scoped_organizations, row.scoped_organizations),
					eq(personalApiKeys.scoped_projects, row.scoped_projects),
					sql`${personalApiKeys.expires_at} is ${row.expires_at}`,
				),
			),
		answer: select(tenant).where(and(ownKeys(tenant, row.id), eq(personalApiKeys.hash, hash))),
	});
	if (!after) throw invalid(null, "The key was rolled or removed by another request.");
	await Promise.all([
		cache(tenant.env, hash, toRecord(tenant, after)),
		evict(tenant.env, row.hash),
	]);
	return toPersonalApiKey(after, value);
}
