import { eq, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { v7 } from "uuid";
import type * as z from "zod";
import { commit } from "../access/unit_of_work.ts";
import type { Database } from "../db/client.ts";
import { isUniqueViolation } from "../db/errors.ts";
import { PLUGINS_ROOT } from "../db/schema/levels.ts";
import { organizationId, organizations, projects } from "../db/schema/organizations.ts";
import { members, users } from "../db/schema/people.ts";
import { personalApiKeys } from "../db/schema/personal_api_keys.ts";
import { mint } from "../keys/rows.ts";
import { giveDefaults } from "../organizations/organizations/default_access.ts";
import { newOrganization } from "../organizations/organizations/queries.ts";
import { entryOf } from "./keys.ts";
import { type bootstrap as Bootstrap, byOperator, DEACTIVATED, OperatorError } from "./shape.ts";

/** Selects a user with their first organization, its first project, and their keys. */
function overview(db: Database, email: string) {
	const user_id = sql<number>`(select ${users.id} from ${users} where ${users.email} = ${email})`;
	return [
		db.select().from(users).where(eq(users.email, email)),
		db
			.select({
				id: organizations.id,
				uuid: organizations.uuid,
				name: organizations.name,
				project: sql<
					number | null
				>`(select min(${projects.id}) from ${projects} where ${projects.organization_id} = ${organizations.id})`.as(
					"project",
				),
			})
			.from(organizations)
			.innerJoin(members, eq(members.organization_id, organizations.id))
			.where(eq(members.user_id, user_id))
			.orderBy(members.id)
			.limit(1),
		db
			.select({
				id: personalApiKeys.id,
				mask_value: personalApiKeys.mask_value,
			})
			.from(personalApiKeys)
			.where(eq(personalApiKeys.user_id, user_id))
			.orderBy(personalApiKeys.id),
	] as const;
}

/**
 * Creates a user with an organization, a project and a key, if they don't exist yet.
 * @returns the key's value as `key`, null if the user already had a key
 * @throws OperatorError if the user is deactivated
 */
export async function bootstrap(
	env: Env,
	options: z.infer<typeof Bootstrap>,
): Promise<Record<string, unknown>> {
	const { email, organization: name } = options;
	const db = drizzle(env.DB);
	const [[existing], [firstOrganization], existingKeys] = await db.batch(overview(db, email));
	if (existing && !existing.is_active) throw new OperatorError(DEACTIVATED);
	const user_id = sql<number>`(select ${users.id} from ${users} where ${users.email} = ${email})`;
	const uuid = v7();
	const newUser = { uuid, email, is_email_verified: true };
	const row = { uuid: v7(), name, plugins_access_level: PLUGINS_ROOT };
	const organization = firstOrganization?.id ?? organizationId(row.uuid);
	const made = firstOrganization ? undefined : newOrganization(db, { user_id, email }, row);
	const key =
		existingKeys.length === 0
			? await mint(db, { user_id, label: "First key", scopes: ["*"] })
			: undefined;
	const created = { organization, activity: "created" as const };
	try {
		await commit(env, db, {
			changes: [
				...(existing ? [] : [db.insert(users).values(newUser)]),
				...(made ? [...made.changes, ...giveDefaults(env, db, organizationId(row.uuid))] : []),
				...(key ? [key.insert] : []),
			],
			entries: [
				...(made?.entries ?? []).map(byOperator),
				...(existing
					? []
					: [
							byOperator({
								...created,
								scope: "User",
								item_id: uuid,
								name: email,
								values: { email },
							}),
						]),
				...(key
					? [
							entryOf(
								"created",
								{ id: key.row.id, label: key.row.label, scopes: ["*"] },
								organization,
							),
						]
					: []),
			],
		});
	} catch (error) {
		// Another command created the user in the meantime. Start again.
		if (isUniqueViolation(error, "users.email")) return bootstrap(env, options);
		throw error;
	}
	const [[user], [organizationRow], keys] = await db.batch(overview(db, email));
	return {
		email,
		user: user?.uuid,
		organization: organizationRow?.uuid,
		organization_name: organizationRow?.name,
		project: organizationRow?.project,
		keys: keys.map(({ id, mask_value }) => `${id} ${mask_value}`),
		key: key?.value ?? null,
	};
}
