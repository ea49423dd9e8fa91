import { and, eq, type SQL, sql } from "drizzle-orm";
import { v7 } from "uuid";
import type * as z from "zod";
import { NEWEST, removeKept } from "../../access/deletions.ts";
import { readPage } from "../../access/pages.ts";
import type { Tenant } from "../../access/tenant.ts";
import { retry } from "../../access/unit_of_work.ts";
import { visibleOrganizations, visibleProject } from "../../access/visible.ts";
import { settable } from "../../db/changes.ts";
import { assertExists, columnsIn, type Database, insertEach } from "../../db/client.ts";
import { restoreLinks } from "../../db/schema/deletions.ts";
import { OWNER } from "../../db/schema/levels.ts";
import { organizationId, organizations, projects } from "../../db/schema/organizations.ts";
import { isActivePerson, isAdminLevel, members, users } from "../../db/schema/people.ts";
import { orNotFound, throttledUntil } from "../../http/errors.ts";
import type { Page } from "../../http/page.ts";
import { digest, newToken } from "../../keys/keys.ts";
import { DAY_MS, iso, now } from "../../lib/time.ts";
import { configured } from "../../outbound/mail.ts";
import { join } from "../../people/memberships.ts";
import { giveDefaults } from "./default_access.ts";
import { mailLinks } from "./mails.ts";
import { create, Organization, type Team, type update as Update } from "./shape.ts";

/** Returns at most 48 characters of a-z, 0-9, underscores and hyphens; perhaps none. */
const slugify = (name: string) =>
	name
		.normalize("NFKD")
		.toLowerCase()
		.replace(/[^a-z0-9_\s-]/g, "")
		.replace(/[\s-]+/g, "-")
		.slice(0, 48)
		.replace(/^[-_]+|(?<![-_])[-_]+$/g, "");

const suffix = () =>
	Array.from(crypto.getRandomValues(new Uint8Array(4)), (n) =>
		String.fromCharCode(97 + (n % 26)),
	).join("");

/** Returns possible slugs for an organization, of which the insert uses the first that is free. */
export function candidates(name: string): string[] {
	const slug = slugify(name);
	const stem = slug.slice(0, 43) || "organization";
	const others = Array.from({ length: 16 }, () => `${stem}-${suffix()}`);
	return slug ? [slug, ...others] : others;
}

/** SQL for the first of the slugs that is free. */
export const freeSlug = (slugs: string[]) => sql<string>`(
	select value from json_each(${JSON.stringify(slugs)})
	where not exists (select 1 from ${organizations} where ${organizations.slug} = value) order by key limit 1)`;

const { id: _id, ...columns } = columnsIn(organizations, Organization.shape);

/** Selects the caller's organizations, with the projects that the caller can see. */
const select = (tenant: Tenant) =>
	tenant.db
		.select({
			id: organizations.uuid,
			...columns,
			organization_id: members.organization_id,
			membership_level: members.level,
			teams: sql`(select json_group_array(json_object(
          'id', ${projects.id}, 'uuid', ${projects.uuid}, 'organization', ${organizations.uuid}, 'name', ${projects.name},
          'timezone', ${projects.timezone}, 'access_control', json(iif(${projects.access_control}, 'true', 'false'))) order by ${projects.id})
        from ${projects} where ${projects.organization_id} = ${organizations.id} and ${visibleProject(tenant)})`
				.mapWith((json): Team[] => JSON.parse(json))
				.as("teams"),
			member_count: sql<string>`cast(${organizations.active_members} as text)`.as("member_count"),
		})
		.from(organizations)
		.innerJoin(
			members,
			and(eq(members.organization_id, organizations.id), eq(members.user_id, tenant.key.user_id)),
		);

type Row = Awaited<ReturnType<typeof select>>[number];

const toOrganization = ({ organization_id: _, ...row }: Row): z.infer<typeof Organization> => row;

/** Newest first. Ordered by a column of `members`, so that one index both filters and sorts. */
export const list = (tenant: Tenant, page: Page) =>
	readPage(tenant, page, {
		select: () => select(tenant).$dynamic(),
		...visibleOrganizations(tenant),
		by: [members.organization_id],
		keys: ({ organization_id }) => [organization_id],
		to: toOrganization,
	});

const read = (tenant: Tenant) =>
	tenant.find(select(tenant).where(eq(organizations.id, tenant.organization)));

export const find = async (tenant: Tenant) => toOrganization(await read(tenant));

type New = z.infer<typeof create> & { uuid: string; plugins_access_level: number };

type Owner = {
	/** May be SQL, for a user who is created earlier in the batch. */
	user_id: number | SQL<number>;
	email: string;
};

/**
 * The parts of a write that creates an organization with its owner and a first project. Both become
 * the owner's current ones.
 */
export function newOrganization(db: Database, { user_id, email }: Owner, row: New) {
	const organization_id = organizationId(row.uuid);
	const item_id = row.uuid;
	const joined = join(db, {
		organization: organization_id,
		user_id,
		level: OWNER,
		name: email,
		via: "creation",
	});
	const isOver = sql`${users.organizations_created_since} <= ${iso(Date.now() - DAY_MS)}`;
	const slug = freeSlug(candidates(row.name));
	const changes = [
		db.insert(organizations).values({ ...row, slug }),
		...joined.changes,
		db.insert(projects).values({ organization_id, name: "Default project" }),
		db
			.update(users)
			.set({
				organizations_created: sql`iif(${isOver}, 1, ${users.organizations_created} + 1)`,
				organizations_created_since: sql`iif(${isOver}, ${now()}, ${users.organizations_created_since})`,
				current_organization_id: organization_id,
				current_project_id: sql`(select ${projects.id} from ${projects} where ${projects.organization_id} = ${organization_id})`,
			})
			.where(eq(users.id, user_id)),
	] as const;
	const values = settable(create, row);
	const created = {
		activity: "created",
		scope: "Organization",
		item_id,
		name: row.name,
		values,
	} as const;
	const entries = [created, ...joined.entries];
	return {
		changes,
		entries: entries.map((entry) => ({ ...entry, organization: organization_id })),
	};
}

/** The maximum number of organizations that a user can create in a day. */
const maxPerDay = ({ ORGANIZATIONS_PER_DAY }: Env) => Number(ORGANIZATIONS_PER_DAY) || 0;

/**
 * Creates an organization. If another request uses up the limit before the write, nothing is
 * written and it is checked again.
 * @throws 429 after too many organizations in a day
 */
export const insert = (tenant: Tenant, body: z.infer<typeof create>) =>
	retry(async () => {
		const { db, env, key } = tenant;
		const mayCreate = sql`(${users.organizations_created} < ${maxPerDay(env)}
			or ${users.organizations_created_since} <= ${iso(Date.now() - DAY_MS)})`;
		const { may_create, since, email } = await tenant.find(
			db
				.select({
					may_create: mayCreate.mapWith(Boolean).as("may_create"),
					since: users.organizations_created_since,
					email: users.email,
				})
				.from(users)
				.where(eq(users.id, key.user_id)),
		);
		if (!may_create) throw throttledUntil(Date.parse(since) + DAY_MS);
		const owner = { user_id: key.user_id, email };
		return write(tenant, body, {
			owner,
			mayCreate: sql`${eq(users.id, key.user_id)} and ${mayCreate}`,
		});
	});

async function write(
	tenant: Tenant,
	body: z.infer<typeof create>,
	{ owner, mayCreate }: { owner: Owner; mayCreate: SQL },
) {
	const uuid = v7();
	const plugins_access_level = Number(tenant.env.DEFAULT_PLUGINS_ACCESS_LEVEL);
	const { db, env } = tenant;
	const made = newOrganization(db, owner, { ...body, uuid, plugins_access_level });
	const row = await tenant.write({
		checks: [assertExists(db, users, mayCreate)],
		...made,
		changes: [...made.changes, ...giveDefaults(env, db, organizationId(uuid))],
		answer: select(tenant).where(eq(organizations.uuid, uuid)),
	});
	return toOrganization(row);
}

export async function update(tenant: Tenant, body: z.infer<typeof Update>) {
	const row = await read(tenant);
	const byId = eq(organizations.id, tenant.organization);
	const entry = { scope: "Organization" as const, name: body.name ?? row.name };
	const after = await tenant.patch(row, body, entry, () => ({
		checks: [assertExists(tenant.db, organizations, byId)],
		changes: [tenant.db.update(organizations).set(body).where(byId)],
		answer: select(tenant).where(byId),
	}));
	return toOrganization(after);
}

/** At most so many owners get a link that restores the organization. */
const MAX_LINKS = 50;

/** Selects who gets one: owners who have proved their address, the caller first. */
const selectOwners = ({ db, organization, key }: Tenant) =>
	db
		.select({ user_id: users.id, email: users.email, first_name: users.first_name })
		.from(members)
		.innerJoin(users, eq(users.id, members.user_id))
		.where(
			and(
				eq(members.organization_id, organization),
				isAdminLevel,
				eq(members.level, OWNER),
				isActivePerson,
				eq(users.is_email_verified, true),
			),
		)
		.orderBy(sql`${users.id} <> ${key.user_id}`, members.joined_at)
		.limit(MAX_LINKS);

/** Deletes the organization, and mails its owners a link that restores it. */
export async function remove(tenant: Tenant) {
	const { db, env, organization } = tenant;
	const [[found], owners] = await tenant.read(
		select(tenant).where(eq(organizations.id, organization)),
		selectOwners(tenant),
	);
	const row = toOrganization(orNotFound(found));
	const links = await Promise.all(
		(configured(env) ? owners : []).map(async (owner) => ({ ...owner, token: newToken() })),
	);
	const hashes = await Promise.all(
		links.map(async ({ user_id, token }) => ({ user_id, token_hash: await digest(token) })),
	);
	const where = eq(organizations.id, tenant.organization);
	await removeKept(
		tenant,
		{
			type: "organization",
			item_id: row.id,
			row: tenant.organization,
			name: row.name,
			values: settable(create, row),
			shown: row,
		},
		{
			table: organizations,
			where,
			remove: [
				insertEach(db, restoreLinks, {
					rows: hashes,
					computed: { deletion_id: NEWEST },
					condition: sql`exists (select 1 from ${members} where ${members.organization_id} = ${tenant.organization}
						and ${members.user_id} = value ->> 'user_id' and ${members.level} = ${OWNER})`,
				}),
				db.delete(organizations).where(where),
			],
		},
	);
	tenant.later(() => mailLinks(env, { name: row.name, at: tenant.at, links }));
}
