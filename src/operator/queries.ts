import { and, type Column, count, desc, eq, sql } from "drizzle-orm";
import type { BatchItem } from "drizzle-orm/batch";
import { drizzle } from "drizzle-orm/d1";
import { alias } from "drizzle-orm/sqlite-core";
import { v7 } from "uuid";
import type * as z from "zod";
import { digest, evict, mask, mint } from "../auth/keys.ts";
import { changes } from "../db/changes.ts";
import { aliased, type Database, insertEach } from "../db/client.ts";
import { isUniqueViolation } from "../db/errors.ts";
import { PLUGINS_ROOT } from "../db/levels.ts";
import { type Entry, record } from "../db/record.ts";
import {
	activityLog,
	members,
	organizations,
	personalApiKeys,
	projects,
	users,
} from "../db/schema.ts";
import { newOrganization } from "../organizations/queries.ts";
import { currentOrganization } from "../tenant/visible.ts";
import type {
	bootstrap as Bootstrap,
	keyCreate,
	keyRevoke,
	list,
	organizationSet,
	userDeactivate,
} from "./shape.ts";

/** An error that the operator can correct, such as a wrong address or an unknown id. */
export class OperatorError extends Error {}

const DEACTIVATED = "The user with this address is deactivated.";

/** Marks log entries as the operator's, since they have no user. */
const trigger = { job: "operator" };

type OperatorEntry = Omit<Entry, "trigger" | "organization" | "project"> & {
	/** The id of the organization in whose log it appears; null: in none. */
	organization: string | null;
};

/** The statement that writes an entry if the statement before it changed a row. */
const log = (db: Database, { organization, ...entry }: OperatorEntry) =>
	record(db, {
		...entry,
		trigger,
		user_id: null,
		organization: sql`${organization}`,
		project: sql`null`,
	});

/**
 * JOIN condition: the user's current organization, whose log has the entries about the user's keys.
 * @param user_id not `users.id` itself, which means another row inside the condition: use an alias
 */
const homeOf = (user_id: Column) => eq(organizations.id, currentOrganization(user_id));

function required<T>(row: T | undefined, what: string): T {
	if (row === undefined) throw new OperatorError(`There is no ${what}.`);
	return row;
}

/** A new key's value, row and log entry. The first request with the key adds it to KV. */
async function newKey(label: string, scopes: string[]) {
	const value = mint();
	const row = {
		id: v7(),
		label,
		scopes,
		hash: await digest(value),
		mask_value: mask(value),
	};
	const entry = {
		activity: "created",
		scope: "PersonalApiKey",
		item_id: row.id,
		name: label,
	};
	return { value, row, entry };
}

/**
 * Selects the user with this address, its first organization with its first project, and its keys.
 */
function overview(db: Database, email: string) {
	const user_id = sql<number>`(select ${users.id} from ${users} where ${users.email} = ${email})`;
	return [
		db.select().from(users).where(eq(users.email, email)),
		db
			.select({
				id: organizations.id,
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
 * Creates a user with an organization, a project and a key; only what is missing.
 * @returns the key's value as `key`, null if the user already had one
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
	const organization = { id: v7(), name, plugins_access_level: PLUGINS_ROOT };
	const inOrganization = { organization: firstOrganization?.id ?? organization.id };
	const key = existingKeys.length === 0 ? await newKey("First key", ["*"]) : undefined;
	const [first, ...rest]: BatchItem<"sqlite">[] = [
		...(existing
			? []
			: [
					db.insert(users).values({ uuid, email, is_email_verified: true }),
					log(db, {
						...inOrganization,
						activity: "created",
						scope: "User",
						item_id: uuid,
						name: email,
					}),
				]),
		...(firstOrganization
			? []
			: [
					...newOrganization(db, user_id, organization),
					log(db, {
						...inOrganization,
						activity: "created",
						scope: "Organization",
						item_id: organization.id,
						name,
					}),
				]),
		...(key
			? [
					db.insert(personalApiKeys).values({ ...key.row, user_id }),
					log(db, { ...inOrganization, ...key.entry }),
				]
			: []),
	];
	try {
		if (first) await db.batch([first, ...rest]);
	} catch (error) {
		// Another command created the user in the meantime: start again.
		if (isUniqueViolation(error, "users.email")) return bootstrap(env, options);
		throw error;
	}
	const [[user], [organizationRow], keys] = await db.batch(overview(db, email));
	return {
		email,
		user: user?.uuid,
		organization: organizationRow?.id,
		organization_name: organizationRow?.name,
		project: organizationRow?.project,
		keys: keys.map(({ id, mask_value }) => `${id} ${mask_value}`),
		key: key?.value ?? null,
	};
}

export async function createKey({ DB }: Env, { email, label, scopes }: z.infer<typeof keyCreate>) {
	const db = drizzle(DB);
	const owner = alias(users, "owner");
	const [user] = await db
		.select({
			id: aliased(owner.id, "owner_id"),
			is_active: owner.is_active,
			organization: organizations.id,
		})
		.from(owner)
		.leftJoin(organizations, homeOf(owner.id))
		.where(eq(owner.email, email));
	const { id, is_active, organization } = required(user, "user with this address");
	if (!is_active) throw new OperatorError(DEACTIVATED);
	const { value, row, entry } = await newKey(label, scopes);
	await db.batch([
		db.insert(personalApiKeys).values({ ...row, user_id: id }),
		log(db, { ...entry, organization }),
	]);
	return { id: row.id, label, scopes, key: value };
}

/**
 * Revokes a key at once: every request checks D1. KV is only a cache, from which the key is
 * evicted.
 */
export async function revokeKey(env: Env, { id }: z.infer<typeof keyRevoke>) {
	const db = drizzle(env.DB);
	const [row] = await db
		.select({
			hash: personalApiKeys.hash,
			label: personalApiKeys.label,
			organization: organizations.id,
		})
		.from(personalApiKeys)
		.leftJoin(organizations, homeOf(personalApiKeys.user_id))
		.where(eq(personalApiKeys.id, id));
	const { hash, label, organization } = required(row, "key with this id");
	await db.batch([
		db.delete(personalApiKeys).where(eq(personalApiKeys.id, id)),
		log(db, {
			activity: "deleted",
			scope: "PersonalApiKey",
			item_id: id,
			name: label,
			organization,
		}),
	]);
	await evict(env, hash);
	return { revoked: id, label };
}

/**
 * Deactivates a user, with an entry in the log of each of its organizations, since each loses an
 * active member.
 */
export async function deactivateUser({ DB }: Env, { email }: z.infer<typeof userDeactivate>) {
	const db = drizzle(DB);
	const byEmail = eq(users.email, email);
	const [[user], memberships] = await db.batch([
		db.select({ uuid: users.uuid }).from(users).where(byEmail),
		db
			.select({ organization_id: members.organization_id })
			.from(members)
			.innerJoin(users, eq(users.id, members.user_id))
			.where(byEmail),
	]);
	const { uuid } = required(user, "user with this address");
	const change = { field: "is_active", action: "changed" } as const;
	const rows = memberships.map(({ organization_id }) => ({
		id: v7(),
		organization_id,
		activity: "deactivated",
		scope: "User",
		item_id: uuid,
		name: email,
		changes: [{ ...change, before: true, after: false }],
		trigger,
	}));
	await db.batch([
		db
			.update(users)
			.set({ is_active: false })
			.where(and(byEmail, eq(users.is_active, true))),
		insertEach(db, activityLog, rows, sql`changes() > 0`),
	]);
	return { deactivated: email };
}

export async function setOrganization(
	{ DB }: Env,
	{ id, features, ...values }: z.infer<typeof organizationSet>,
) {
	const available_product_features = features?.map((key) => ({
		key,
		name: key,
	}));
	const body = {
		...values,
		...(available_product_features && { available_product_features }),
	};
	if (Object.keys(body).length === 0)
		throw new OperatorError(
			"Nothing to set: give --plugins-access-level, --feature or --customer-id.",
		);
	const db = drizzle(DB);
	const byId = eq(organizations.id, id);
	const [before] = await db.select().from(organizations).where(byId);
	const row = required(before, "organization with this id");
	const changed = changes(row, body);
	if (changed.length > 0)
		await db.batch([
			db.update(organizations).set(body).where(byId),
			log(db, {
				activity: "updated",
				scope: "Organization",
				item_id: id,
				name: row.name,
				changes: changed,
				organization: id,
			}),
		]);
	return { organization: id, ...body };
}

/** Newest first. */
export async function listOrganizations({ DB }: Env, { limit }: z.infer<typeof list>) {
	const db = drizzle(DB);
	const [results, [total]] = await db.batch([
		db
			.select({
				id: organizations.id,
				name: organizations.name,
				members: organizations.active_members,
				plugins_access_level: organizations.plugins_access_level,
				created_at: organizations.created_at,
			})
			.from(organizations)
			.orderBy(desc(organizations.id))
			.limit(limit),
		db.select({ count: count() }).from(organizations),
	]);
	return { count: total?.count, results };
}

/** Newest first. */
export async function listUsers({ DB }: Env, { limit }: z.infer<typeof list>) {
	const db = drizzle(DB);
	const organizationCount = sql<number>`(select count(*) from members where members.user_id = users.id)`;
	const keyCount = sql<number>`(select count(*) from personal_api_keys where personal_api_keys.user_id = users.id)`;
	const [results, [total]] = await db.batch([
		db
			.select({
				email: users.email,
				name: sql<string>`trim(${users.first_name} || ' ' || ${users.last_name})`.as("name"),
				is_active: users.is_active,
				organizations: organizationCount.as("organizations"),
				keys: keyCount.as("keys"),
				created_at: users.created_at,
			})
			.from(users)
			.orderBy(desc(users.id))
			.limit(limit),
		db.select({ count: count() }).from(users),
	]);
	return { count: total?.count, results };
}
