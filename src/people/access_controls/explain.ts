import { and, eq, type SQL, sql } from "drizzle-orm";
import * as z from "zod";
import {
	type Controls,
	EVERYTHING,
	levelOf,
	mayView,
	parseLevels,
	within,
} from "../../access/access_levels.ts";
import { isObject } from "../../access/controlled_objects.ts";
import { readPage } from "../../access/pages.ts";
import type { Tenant } from "../../access/tenant.ts";
import { isOpen } from "../../access/visible.ts";
import { aliased } from "../../db/client.ts";
import {
	ACCESS_LEVELS,
	ADMIN,
	BY_DEFAULT,
	insufficientLevel,
	nameOfAccess,
	RESOURCES,
	type Resource,
} from "../../db/schema/levels.ts";
import { organizations, projects } from "../../db/schema/organizations.ts";
import { members, projectMembers, users } from "../../db/schema/people.ts";
import { invalid, notFound, orNotFound } from "../../http/errors.ts";
import { envelope, mapResults, type Page } from "../../http/page.ts";
import { lazy } from "../../lib/lazy.ts";
import { ROLES_OF_MEMBER } from "../memberships.ts";
import { userColumns } from "../users/shape.ts";
import { checkHasObjects, hasObjects } from "./queries.ts";
import type { MemberAccess, question } from "./shape.ts";

type Explained = z.infer<typeof MemberAccess>;

/** What a question is about. `id` is empty for a resource as a whole. */
type Subject = { resource: Resource; id: string };

/** SQL for the id of the project that an object is, or is in; null if there is none. */
function projectOf({ resource, id }: Subject, organization: SQL) {
	if (resource === "project" && id !== "") return sql`cast(${id} as integer)`;
	return resource === "batch_export" && id !== ""
		? sql`(select e.project_id from batch_exports as e where e.organization_id = ${organization} and e.uuid = ${id})`
		: sql`null`;
}

/** SQL condition: the access control is one of the organization's about the subject, or about any. */
const isAbout = (subject: Subject | undefined) => sql`g.organization_id = members.organization_id
	and ${subject ? sql`g.resource = ${subject.resource} and g.resource_id in ('', ${subject.id})` : sql`true`}`;

/** SQL for JSON of the access controls that apply to the member in `members`. */
const controlsOf = (subject: Subject | undefined) => sql`(
	select json_group_array(json_array(id, resource, resource_id, access_level, given_to, role)
		order by resource, resource_id desc, id)
	from (${sql.join(
		// Each is read from its own index.
		[
			sql`select g.*, 'everyone' as given_to, null as role from access_controls as g
				where ${isAbout(subject)} and g.role_id is null and g.user_id is null`,
			sql`select g.*, 'member', null from access_controls as g
				where ${isAbout(subject)} and g.user_id = members.user_id`,
			sql`select g.*, 'role', r.name from access_controls as g join roles as r on r.id = g.role_id
				where ${isAbout(subject)} and g.role_id in (${ROLES_OF_MEMBER})`,
		],
		sql` union all `,
	)}))`;

const applying = lazy(() =>
	z.array(
		z.tuple([
			z.guid(),
			z.enum(RESOURCES),
			z.string(),
			z.int(),
			z.enum(["member", "role", "everyone"]),
			z.string().nullable(),
		]),
	),
);

/** The members of the organization, with the tables that `canView` reads. */
const fromMembers = (tenant: Tenant, subject: Subject) => sql`${members}
	join ${users} on ${users.id} = ${members.user_id}
	join ${organizations} on ${organizations.id} = ${members.organization_id}
	left join ${projects} on ${projects.id} = ${projectOf(subject, tenant.organization)}
	left join ${projectMembers} on ${projectMembers.project_id} = ${projects.id} and ${projectMembers.user_id} = ${members.user_id}`;

/** Selects members with what their access follows from. */
const select = (tenant: Tenant, subject: Subject | undefined) =>
	tenant.db
		.select({
			id: members.id,
			member: userColumns,
			level: members.level,
			own: members.access,
			everyone: aliased(organizations.access, "everyone"),
			project_id: aliased(projects.id, "project_id"),
			is_private: projects.access_control,
			project_level: aliased(projectMembers.level, "project_level"),
			controls: controlsOf(subject)
				.mapWith((json: string) => applying().parse(JSON.parse(json)))
				.as("controls"),
		})
		.from(members)
		.innerJoin(users, eq(users.id, members.user_id))
		.innerJoin(organizations, eq(organizations.id, members.organization_id))
		.leftJoin(
			projects,
			subject ? eq(projects.id, projectOf(subject, tenant.organization)) : sql`false`,
		)
		.leftJoin(
			projectMembers,
			and(eq(projectMembers.project_id, projects.id), eq(projectMembers.user_id, members.user_id)),
		);

type Row = Awaited<ReturnType<typeof select>>[number];

/** SQL condition: the member can view the object, or some of the resource's. */
function canView({ resource, id }: Subject) {
	const own = members.access;
	const everyone = organizations.access;
	const asProject = resource === "project" && id !== "" ? isOpen(everyone) : undefined;
	const isAdmin = sql`case when ${members.level} >= ${ADMIN} then 4 end,`;
	const asOther = mayView({ own, everyone, resource, id: sql`${id}` }, isAdmin);
	return (
		asProject ??
		and(asOther, resource === "batch_export" && id !== "" ? isOpen(everyone) : undefined)
	);
}

/** Returns which key decides, as in `levelOf`, and whether it is one of the member's own. */
function decidingKey({ own, everyone }: Controls, { resource, id }: Subject) {
	const object = id === "" ? resource : `${resource}:${id}`;
	const keys = [
		{ key: object, isOwn: true, levels: own },
		{ key: object, isOwn: false, levels: everyone },
		{ key: resource, isOwn: true, levels: own },
		{ key: resource, isOwn: false, levels: everyone },
	];
	return keys.find(({ key, levels }) => levels[key] !== undefined);
}

/** Explains the access of one member. */
function toExplained(row: Row, subject: Subject): Explained {
	const { resource, id } = subject;
	const controls = { own: parseLevels(row.own), everyone: parseLevels(row.everyone) };
	const privacy = {
		isPrivate: row.is_private === true,
		isProjectMember: row.project_level !== null,
	};
	const project =
		row.project_id === null
			? BY_DEFAULT
			: levelOf(controls, { resource: "project", id: String(row.project_id), privacy });
	const isAdmin =
		row.level >= ADMIN ||
		((row.project_level ?? 0) >= ADMIN && controls.own[`project:${row.project_id}`] !== 0);
	const isProject = resource === "project" && id !== "";
	const alone = isProject ? project : levelOf(controls, { resource, id: id === "" ? null : id });
	const level = isAdmin ? ACCESS_LEVELS.manager : isProject ? project : within(project, alone);
	const deciding = decidingKey(controls, subject);
	const decided_by = whatDecides();
	return {
		member: row.member,
		level: row.level,
		resource,
		resource_id: id === "" ? null : id,
		access_level: nameOfAccess(level),
		can_view: level >= ACCESS_LEVELS.viewer,
		can_edit: level >= ACCESS_LEVELS.editor,
		can_delete: level >= BY_DEFAULT,
		can_manage: level >= ACCESS_LEVELS.manager,
		decided_by,
		access_controls: row.controls
			.filter((control) => control[1] === resource && ["", id].includes(control[2]))
			.map(([control, , resource_id, access, given_to, role]) => ({
				id: control,
				resource_id: resource_id === "" ? null : resource_id,
				access_level: nameOfAccess(access),
				given_to,
				role,
				decides:
					decided_by === "access_control" &&
					access === level &&
					(given_to !== "everyone") === deciding?.isOwn &&
					deciding.key === (resource_id === "" ? resource : `${resource}:${resource_id}`),
			})),
	};

	function whatDecides(): Explained["decided_by"] {
		if (isAdmin) return "level";
		const isHidden = privacy.isPrivate && !privacy.isProjectMember && project === 0;
		if (isHidden && controls.own[`project:${row.project_id}`] === undefined)
			return "private_project";
		if (!isProject && level !== alone) return "project";
		const auditor = controls.own[EVERYTHING];
		if (auditor !== undefined && !(deciding?.isOwn && level > auditor)) return "auditor";
		// The members of a project are not subject to the access controls for everyone.
		if (isProject && privacy.isProjectMember && !deciding?.isOwn) return "default";
		return deciding ? "access_control" : "default";
	}
}

/** Reads what a question is about. Throws 400 if the resource has no objects, or is missing. */
function subjectOf({ resource, resource_id }: z.infer<typeof question>) {
	if (resource_id !== undefined) {
		if (resource === undefined) throw invalid("resource", "This field is required.", "required");
		checkHasObjects(resource);
	}
	return resource && { resource, id: resource_id?.toLowerCase() ?? "" };
}

/** Explains the access of a member, or lists the members who can view something. */
export async function explain(tenant: Tenant, page: Page, asked: z.infer<typeof question>) {
	const { db, organization } = tenant;
	const subject = subjectOf(asked);
	const isHere =
		subject && subject.id !== "" && hasObjects(subject.resource)
			? isObject(subject.resource, organization, subject.id)
			: sql`true`;
	const ofOrganization = and(eq(members.organization_id, organization), sql`${users.is_active}`);
	const { member = subject ? undefined : "@me" } = asked;
	if (member === undefined && subject) {
		const rows = await readPage(tenant, page, {
			select: () => select(tenant, subject).$dynamic(),
			where: eq(members.organization_id, organization),
			few: {
				id: members.user_id,
				from: fromMembers(tenant, subject),
				where: and(ofOrganization, isHere, canView(subject)),
			},
			by: [members.id],
			keys: ({ id }) => [id],
		});
		if (!tenant.mayReview("organization_member")) throw insufficientLevel();
		// The owners can view all that exists.
		if (rows.count === 0) throw notFound();
		return mapResults(rows, (row) => toExplained(row, subject));
	}
	const { key } = tenant;
	const isAsked = member === "@me" ? eq(users.id, key.user_id) : eq(users.uuid, member ?? "");
	const [[found], [here]] = await tenant.read(
		select(tenant, subject).where(and(ofOrganization, isAsked)),
		db.select({ is_here: sql<number>`${isHere}`.as("is_here") }).from(sql`(select 1)`),
	);
	const isSelf = found?.member.id === key.user_id;
	if (!isSelf && !tenant.mayReview("organization_member")) throw insufficientLevel();
	const row = orNotFound(here?.is_here ? found : undefined);
	const explained = (subject ? [subject] : subjectsOf(row)).map((each) => toExplained(row, each));
	// One's own question must not tell what one may not view.
	const isTold = ({ resource_id, can_view }: Explained) =>
		resource_id === null || can_view || tenant.mayReview("organization_member");
	const results = explained.filter(isTold);
	if (results.length === 0) throw notFound();
	return envelope(page, {
		rows: results.slice(page.offset, page.offset + page.limit + 1),
		count: results.length,
		keys: () => [],
	});
}

/** All resources, and the objects that access controls of the member are about. */
function subjectsOf({ controls }: Row): Subject[] {
	const objects = new Map(
		controls
			.filter(([, , id]) => id !== "")
			.map(([, resource, id]) => [`${resource}:${id}`, { resource, id }] as const),
	);
	return [...RESOURCES.map((resource) => ({ resource, id: "" })), ...objects.values()];
}
