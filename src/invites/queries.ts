import { and, eq, sql } from "drizzle-orm";
import { v7 } from "uuid";
import type * as z from "zod";
import { digest, newToken } from "../auth/keys.ts";
import { ADMIN, insufficient, MEMBER } from "../auth/levels.ts";
import { among, as } from "../db/client.ts";
import {
	invites,
	members,
	organizations,
	projectMembers,
	projects,
	users,
} from "../db/schema.ts";
import type { Tenant } from "../db/tenant.ts";
import { visibleProject } from "../db/visible.ts";
import { forbidden, found, invalid } from "../http/errors.ts";
import { each, type Page } from "../http/page.ts";
import { configured } from "../mail/mail.ts";
import { userColumns } from "../users/shape.ts";
import { levelOf } from "./access.ts";
import { type create, toInvite } from "./shape.ts";

type New = z.infer<typeof create>;

const select = ({ db }: Tenant) =>
	db
		.select({
			id: invites.id,
			target_email: invites.target_email,
			first_name: as(invites.first_name, "invited_first_name"),
			emailing_attempt_made: invites.emailing_attempt_made,
			level: invites.level,
			created_by: userColumns,
			created_at: invites.created_at,
			updated_at: invites.updated_at,
			message: invites.message,
			private_project_access: invites.private_project_access,
		})
		.from(invites)
		.innerJoin(users, eq(users.id, invites.created_by));

/** Newest first, expired ones too. */
export const list = async (tenant: Tenant, page: Page) =>
	each(
		await tenant.page(page, select(tenant).$dynamic(), {
			where: eq(invites.organization_id, tenant.organization),
			by: [invites.id],
			keys: ({ id }) => [id],
			total: sql`(select count(*) from ${invites} where ${invites.organization_id} = ${tenant.organization})`,
		}),
		toInvite,
	);

/**
 * Makes the invites, all or none, in place of older ones for the same addresses.
 * @param at where a refused field stands: `""`, or in bulk the position of the invite
 */
export async function insert(
	tenant: Tenant,
	bodies: New[],
	at: (i: number) => string,
) {
	const { db, organization } = tenant;
	const emails = bodies.map(({ target_email }) => target_email);
	const wanted = bodies.flatMap(({ private_project_access = [] }) =>
		private_project_access.map(({ id }) => id),
	);
	const [there, reachable, [home]] = await tenant.read(
		db
			.select({ email: users.email })
			.from(users)
			.where(
				and(
					among(users.email, emails),
					sql`exists (select 1 from ${members} where ${members.organization_id} = ${organization} and ${members.user_id} = ${users.id})`,
				),
			),
		db
			.select({ id: projects.id, level: projectMembers.level })
			.from(projects)
			.leftJoin(
				projectMembers,
				and(
					eq(projectMembers.project_id, projects.id),
					eq(projectMembers.user_id, tenant.key.user_id),
				),
			)
			.where(
				and(
					eq(projects.organization_id, organization),
					among(projects.id, wanted),
					visibleProject(tenant),
				),
			),
		db
			.select({ name: organizations.name })
			.from(organizations)
			.where(eq(organizations.id, organization)),
	);
	const own = tenant.caller.level;
	for (const [
		i,
		{ target_email, level = MEMBER, private_project_access = [] },
	] of bodies.entries()) {
		if (level > own)
			throw forbidden(
				"You cannot invite a user with a higher permission level than your own.",
			);
		if (there.some(({ email }) => email === target_email))
			throw invalid(
				null,
				"A user with this email address already belongs to the organization.",
			);
		for (const access of private_project_access) {
			const project = reachable.find(({ id }) => id === access.id);
			const attr = `${at(i)}private_project_access`;
			if (!project)
				throw invalid(
					attr,
					"Project does not exist on this organization, or it is private and you do not have access to it.",
				);
			if (levelOf(access) > Math.max(own, project.level ?? 0))
				throw invalid(
					attr,
					"You cannot invite to a private project with a higher level than your own.",
				);
		}
	}
	const made = await Promise.all(
		bodies.map(async ({ send_email = true, ...body }) => {
			const token = newToken();
			return {
				...body,
				id: v7(),
				token,
				token_hash: await digest(token),
				emailing_attempt_made: send_email && configured(tenant.env),
			};
		}),
	);
	const rows = await tenant.write(
		made.map(({ id, target_email }) => ({
			activity: "created",
			scope: "Invite",
			item_id: id,
			name: target_email,
		})),
		db
			.delete(invites)
			.where(
				and(
					eq(invites.organization_id, organization),
					among(invites.target_email, emails),
				),
			),
		...made.map(({ token: _, ...row }) =>
			db.insert(invites).values({
				...row,
				organization_id: organization,
				created_by: tenant.key.user_id,
			}),
		),
		select(tenant).where(
			among(
				invites.id,
				made.map(({ id }) => id),
			),
		),
	);
	return made.map(({ id, token }) => ({
		invite: toInvite(found(rows.find((row) => row.id === id))),
		organization_name: found(home).name,
		token,
	}));
}

/** For admins, and for whoever made it. */
export async function remove(tenant: Tenant, id: string) {
	const one = and(
		eq(invites.organization_id, tenant.organization),
		eq(invites.id, id.toLowerCase()),
	);
	const [[row]] = await tenant.read(select(tenant).where(one));
	const { target_email, created_by } = found(row);
	if (tenant.caller.level < ADMIN && created_by.id !== tenant.key.user_id)
		throw insufficient();
	const removed = await tenant.remove(
		{ scope: "Invite", item_id: id.toLowerCase(), name: target_email },
		tenant.db.delete(invites).where(one).returning({ id: invites.id }),
	);
	found(removed);
}
