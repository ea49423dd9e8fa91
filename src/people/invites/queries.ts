import { and, eq, sql } from "drizzle-orm";
import { v7 } from "uuid";
import type * as z from "zod";
import { cacheStatement } from "../../access/cached_statements.ts";
import { removeRow } from "../../access/objects.ts";
import { readPage } from "../../access/pages.ts";
import type { QueryScope } from "../../access/query_scope.ts";
import type { Tenant } from "../../access/tenant.ts";
import { retry } from "../../access/unit_of_work.ts";
import { visibleProjectHere } from "../../access/visible.ts";
import { settable } from "../../db/changes.ts";
import { aliased, assertThat, inList, insertJson } from "../../db/client.ts";
import { contains } from "../../db/contains.ts";
import { counter, countWhere } from "../../db/list.ts";
import { ADMIN, insufficientLevel, MEMBER } from "../../db/schema/levels.ts";
import { organizations, projects } from "../../db/schema/organizations.ts";
import { inviteMails, invites, members, projectMembers, users } from "../../db/schema/people.ts";
import { forbidden, invalid, orNotFound } from "../../http/errors.ts";
import type { Page } from "../../http/page.ts";
import { digest, newToken } from "../../keys/keys.ts";
import { now } from "../../lib/time.ts";
import { configured } from "../../outbound/mail.ts";
import { inviterMayInvite, whyNotInvite, whyNotInviteToProject } from "../levels.ts";
import { userColumns } from "../users/shape.ts";
import { levelOf } from "./access.ts";
import {
	type Added,
	blockingInvite,
	blockingMails,
	checkLimits,
	isKnown,
	LIMITS,
	limitsOf,
	senderOf,
	withinLimits,
} from "./limits.ts";
import { create, type filters, toInvite } from "./shape.ts";

type New = z.infer<typeof create>;

const select = ({ db }: QueryScope) =>
	db
		.select({
			id: invites.id,
			target_email: invites.target_email,
			first_name: aliased(invites.first_name, "invited_first_name"),
			emailing_attempt_made: invites.emailing_attempt_made,
			level: invites.level,
			created_by: userColumns,
			created_at: invites.created_at,
			updated_at: invites.updated_at,
			message: invites.message,
			private_project_access: invites.private_project_access,
			inviter_may_invite: inviterMayInvite.mapWith(Boolean).as("inviter_may_invite"),
		})
		.from(invites)
		.innerJoin(users, eq(users.id, invites.created_by));

/** Lists the invites, newest first, including expired ones. */
export function list(tenant: Tenant, page: Page, { search }: z.infer<typeof filters>) {
	const where = and(
		eq(invites.organization_id, tenant.organization),
		search ? contains(invites.target_email, search) : undefined,
	);
	const list = {
		where,
		total: search
			? countWhere(invites, where)
			: counter(organizations.invites, tenant.organization),
		by: [invites.id],
		keys: ({ id }: { id: string }) => [id],
	};
	return readPage(tenant, page, { select: () => select(tenant).$dynamic(), ...list, to: toInvite });
}

/**
 * Creates the invites, all or none, and deletes older ones for the same addresses. If another
 * request uses up a limit before the write, nothing is written and the checks run again.
 * @param prefix the prefix of field names in errors: `""`, or the invite's position in a bulk
 * request
 * @throws 400, 403 or 429 for the first rule that is broken, 409 if other requests interfered each
 * time
 */
export async function insert(tenant: Tenant, bodies: New[], prefix: (i: number) => string) {
	const added = {
		emails: bodies.map(({ target_email }) => target_email),
		mailed: bodies.filter((body) => isMailed(tenant, body)).map(({ target_email }) => target_email),
	};
	return retry(async () => {
		const state = await readState(tenant, bodies, added);
		for (const [i, body] of bodies.entries()) check(tenant, body, state, prefix(i));
		const { name, ...blocking } = state.organization;
		checkLimits(tenant, added, blocking);
		const created = await write(tenant, bodies, added);
		return created.map((each) => ({ ...each, organization_name: name }));
	});
}

const isMailed = ({ env }: Tenant, { send_email = true }: New) => send_email && configured(env);

type State = Awaited<ReturnType<typeof readState>>;

const selectExisting = cacheStatement(["emails"], ({ db, organization }, { emails }) =>
	db
		.select({ email: users.email })
		.from(users)
		.where(
			and(
				inList(users.email, emails),
				sql`exists (select 1 from ${members} where ${members.organization_id} = ${organization} and ${members.user_id} = ${users.id})`,
			),
		),
);

const selectVisible = cacheStatement(["project_ids"], (tenant, { project_ids }) =>
	tenant.db
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
				eq(projects.organization_id, tenant.organization),
				inList(projects.id, project_ids),
				visibleProjectHere(tenant, "editor"),
			),
		),
);

const selectOrganization = cacheStatement(LIMITS, (tenant, limits) => {
	const { organization_mail, sender_mail, recipient_mail } = blockingMails(tenant, limits);
	return tenant.db
		.select({
			name: organizations.name,
			organization_mail: organization_mail.as("organization_mail"),
			sender_mail: sender_mail.as("sender_mail"),
			recipient_mail: recipient_mail.as("recipient_mail"),
			invite: blockingInvite(tenant, limits).as("invite"),
		})
		.from(organizations)
		.where(eq(organizations.id, tenant.organization));
});

/** Reads the rows that the rules are checked against. */
async function readState(tenant: Tenant, bodies: New[], added: Added) {
	const limits = limitsOf(tenant, added);
	const project_ids = bodies.flatMap(({ private_project_access = [] }) =>
		private_project_access.map(({ id }) => id),
	);
	const [existing, visible, [organization]] = await tenant.read(
		tenant.cached(selectExisting, limits),
		tenant.cached(selectVisible, { project_ids: JSON.stringify(project_ids) }),
		tenant.cached(selectOrganization, limits),
	);
	return {
		existing: existing.map(({ email }) => email),
		visible,
		organization: orNotFound(organization),
	};
}

/** Throws the error of the first rule that the invite breaks (docs/organizations.md#invites). */
function check(
	tenant: Tenant,
	{ target_email, level = MEMBER, private_project_access = [] }: New,
	{ existing, visible }: State,
	prefix: string,
) {
	const why = whyNotInvite(tenant.caller, level);
	if (why) throw forbidden(why);
	const attr = `${prefix}private_project_access`;
	if (existing.includes(target_email))
		throw invalid(
			prefix ? `${prefix}target_email` : null,
			"A user with this email address already belongs to the organization.",
		);
	for (const access of private_project_access) {
		const project = visible.find(({ id }) => id === access.id);
		if (!project)
			throw invalid(
				attr,
				"Project does not exist on this organization, or it is private and you do not have access to it.",
			);
		const whyNotIt = whyNotInviteToProject(tenant.caller, project.level, levelOf(access));
		if (whyNotIt) throw invalid(attr, whyNotIt);
	}
}

/** Creates the row of an invite, and its token, of which only the hash is stored. */
async function newInvite(tenant: Tenant, body: New, at: string) {
	const token = newToken();
	const row = {
		id: v7(),
		organization_id: orNotFound(tenant.caller.organization_id),
		target_email: body.target_email,
		first_name: body.first_name ?? "",
		level: body.level ?? MEMBER,
		message: body.message ?? null,
		private_project_access: body.private_project_access ?? [],
		created_by: tenant.key.user_id,
		emailing_attempt_made: isMailed(tenant, body),
		token_hash: await digest(token),
		created_at: at,
		updated_at: at,
	};
	return { token, row };
}

const assertWithinLimits = cacheStatement(LIMITS, (tenant, limits) =>
	assertThat(tenant.db, withinLimits(tenant, limits), "is_current"),
);

const insertMails = cacheStatement(["mail_rows"], (tenant, { mail_rows }) =>
	tenant.db.insert(inviteMails).select(sql`
    select value ->> 'sent_at', value ->> 'invite_id', value ->> 'organization_id', ${senderOf(tenant)},
      iif(${isKnown(tenant, sql`value ->> 'email'`)}, null, value ->> 'email')
    from json_each(${mail_rows})`),
);

const deleteReplaced = cacheStatement(["emails"], ({ db, organization }, { emails }) =>
	// As row values, because SQLite would otherwise read all invites of the organization.
	db
		.delete(invites)
		.where(
			sql`(${invites.organization_id}, ${invites.target_email}) in (select ${organization}, value from json_each(${emails}))`,
		),
);

const insertInvites = cacheStatement(["rows"], ({ db }, { rows }) =>
	insertJson(db, invites, { rows }),
);

const selectNew = cacheStatement(["ids"], (tenant, { ids }) =>
	select(tenant).where(
		and(eq(invites.organization_id, tenant.organization), inList(invites.id, ids)),
	),
);

async function write(tenant: Tenant, bodies: New[], added: Added) {
	const at = now();
	const newInvites = await Promise.all(bodies.map((body) => newInvite(tenant, body, at)));
	const invited = newInvites.map(({ row }) => row);
	const mails = invited
		.filter(({ emailing_attempt_made }) => emailing_attempt_made)
		.map(({ id: invite_id, organization_id, target_email: email }) => ({
			...{ invite_id, organization_id, email, sent_at: at },
		}));
	const values = {
		...limitsOf(tenant, added),
		mail_rows: JSON.stringify(mails),
		rows: JSON.stringify(invited),
		ids: JSON.stringify(invited.map(({ id }) => id)),
	};
	const rows = await tenant.write({
		checks: [tenant.cached(assertWithinLimits, values)],
		changes: [
			tenant.cached(insertMails, values),
			tenant.cached(deleteReplaced, values),
			tenant.cached(insertInvites, values),
		],
		entries: invited.map((row) => ({
			activity: "created",
			scope: "Invite",
			item_id: row.id,
			name: row.target_email,
			values: settable(create, row),
		})),
		rows: tenant.cached(selectNew, values),
	});
	return newInvites.flatMap(({ row: { id }, token }) =>
		rows.filter((row) => row.id === id).map((row) => ({ invite: toInvite(row), token })),
	);
}

/** Deletes an invite. Throws 403 unless the caller is an admin or the inviter. */
export async function remove(tenant: Tenant, id: string) {
	const byId = and(
		eq(invites.organization_id, tenant.organization),
		eq(invites.id, id.toLowerCase()),
	);
	const row = await tenant.find(select(tenant).where(byId));
	const { target_email, created_by } = row;
	if (tenant.caller.level < ADMIN && created_by.id !== tenant.key.user_id)
		throw insufficientLevel();
	const values = settable(create, row);
	const entry = { scope: "Invite" as const, item_id: row.id, name: target_email, values };
	await removeRow(tenant, entry, invites, byId);
}
