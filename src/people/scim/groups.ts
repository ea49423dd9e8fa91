import { and, eq, sql } from "drizzle-orm";
import type * as z from "zod";
import { readPage } from "../../access/pages.ts";
import type { Tenant } from "../../access/tenant.ts";
import { retry } from "../../access/unit_of_work.ts";
import { selectVisibleProjects } from "../../access/visible.ts";
import { isUnchanged } from "../../db/changes.ts";
import { assertExists } from "../../db/client.ts";
import { scimGroups } from "../../db/schema/scim.ts";
import { doesNotExist, orNotFound } from "../../http/errors.ts";
import type { Page } from "../../http/page.ts";
import { now } from "../../lib/time.ts";
import { assertRoles, selectRoles } from "../roles/queries.ts";
import { inDomain, selectDomain } from "./domain.ts";
import * as people from "./people.ts";
import type { ScimGroup, update as Update } from "./shape.ts";

type Group = z.infer<typeof ScimGroup>;

const select = ({ db }: Tenant) =>
	db
		.select({
			id: scimGroups.id,
			display_name: scimGroups.display_name,
			external_id: scimGroups.external_id,
			members: sql<number>`(select count(*) from scim_group_members as gm
				where gm.domain_id = scim_groups.domain_id and gm.group_id = scim_groups.id)`.as("members"),
			level: sql<Group["level"]>`${scimGroups.level}`.as("level"),
			projects: sql<Group["projects"]>`${scimGroups.projects}`
				.mapWith((json): Group["projects"] => JSON.parse(json))
				.as("projects"),
			roles: scimGroups.roles,
			created_at: scimGroups.created_at,
			updated_at: scimGroups.updated_at,
		})
		.from(scimGroups)
		.$dynamic();

/** Lists the groups, ordered by their age, newest first. */
export const list = (tenant: Tenant, domain_id: string, page: Page) =>
	readPage(tenant, page, {
		parent: selectDomain(tenant, domain_id),
		select: () => select(tenant),
		where: eq(scimGroups.domain_id, domain_id.toLowerCase()),
		by: [scimGroups.id],
		keys: ({ id }) => [id],
	});

const byId = (tenant: Tenant, domain_id: string, id: string) =>
	and(inDomain(tenant, domain_id, scimGroups.domain_id), eq(scimGroups.id, id.toLowerCase()));

export const find = (tenant: Tenant, domain_id: string, id: string) =>
	tenant.find(select(tenant).where(byId(tenant, domain_id, id)));

/** Sets what a group grants, and gives it to its members. */
export const update = (tenant: Tenant, domain: string, id: string, body: z.infer<typeof Update>) =>
	retry(() => tryUpdate(tenant, domain, id, body));

/** Reads a group with its members, and what the body wants it to grant. */
async function readForUpdate(
	tenant: Tenant,
	domain: string,
	id: string,
	body: z.infer<typeof Update>,
) {
	const domain_id = domain.toLowerCase();
	const ids = sql`select gm.user_id from scim_group_members as gm
		where gm.domain_id = ${domain_id} and gm.group_id = ${id.toLowerCase()}`;
	const place = { db: tenant.db, organization: tenant.organization, domain_id };
	const wanted = body.projects?.map((project) => project.id) ?? [];
	const [[found], visible, roles, read] = await tenant.read(
		select(tenant).where(byId(tenant, domain, id)),
		selectVisibleProjects(tenant, wanted),
		selectRoles(tenant, body.roles ?? []),
		people.selectState(place, ids),
	);
	const row = orNotFound(found);
	const seen = new Set(visible.map((project) => project.id));
	for (const [i, project] of wanted.entries())
		if (!seen.has(project)) throw doesNotExist(`projects__${i}__id`, project);
	const names = new Map(roles.map((role) => [role.id, role.name]));
	for (const [i, role] of body.roles?.entries() ?? [])
		if (!names.has(role)) throw doesNotExist(`roles__${i}`, role);
	return { row, place, state: people.toState(place, ids, read), names };
}

async function tryUpdate(
	tenant: Tenant,
	domain: string,
	id: string,
	body: z.infer<typeof Update>,
): Promise<Group> {
	const { db } = tenant;
	const { row, place, state, names } = await readForUpdate(tenant, domain, id, body);
	const { level = row.level, projects = row.projects, roles = row.roles } = body;
	const given =
		body.projects && Object.fromEntries(body.projects.map((each) => [each.id, each.level]));
	const before = state.mapping.get(row.id);
	const mapping: people.Mapping = new Map(state.mapping).set(row.id, {
		level: level ?? 0,
		projects: given ?? before?.projects ?? {},
		roles: body.roles ? Object.fromEntries(names) : (before?.roles ?? {}),
	});
	const members = state.people.filter((person) => person.level !== null);
	const targets = members.map((person) => ({ person, active: true, groups: person.groups }));
	const plan = people.plan(place, state, targets, mapping);
	const entry = { scope: "ScimGroup" as const, name: row.display_name };
	const isCurrent = isUnchanged(scimGroups, row, ["level", "projects", "roles"]);
	return tenant.patch(row, body, entry, () => ({
		checks: [
			assertExists(db, scimGroups, and(byId(tenant, domain, id), isCurrent)),
			...(body.roles ? [assertRoles(tenant, body.roles)] : []),
			...state.checks,
		],
		changes: [
			db
				.update(scimGroups)
				.set({ level, projects, roles, updated_at: now() })
				.where(byId(tenant, domain, id)),
			...plan.changes,
			...people.upsert(place, plan.rows),
		],
		entries: plan.entries.map((each) => ({
			...each,
			trigger: { job_type: "scim", group_id: row.id, ...each.trigger },
		})),
		answer: select(tenant).where(byId(tenant, domain, id)),
	}));
}
