import { type Column, eq } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { alias } from "drizzle-orm/sqlite-core";
import type * as z from "zod";
import { commit, retry } from "../access/unit_of_work.ts";
import { currentOrganization } from "../access/visible.ts";
import { aliased } from "../db/client.ts";
import type { SignedEntry } from "../db/record.ts";
import { organizations } from "../db/schema/organizations.ts";
import { users } from "../db/schema/people.ts";
import { personalApiKeys } from "../db/schema/personal_api_keys.ts";
import { endKey, mint } from "../keys/rows.ts";
import { canWrite, keyChanged, mailChange } from "../people/users/mails.ts";
import {
	byOperator,
	DEACTIVATED,
	type keyCreate,
	type keyRevoke,
	OperatorError,
	required,
} from "./shape.ts";

/**
 * JOIN condition: the user's current organization, whose log has the entries about the user's keys.
 * @param user_id an alias, not `users.id` itself, which means another row inside the condition
 */
const homeOf = (user_id: Column) => eq(organizations.id, currentOrganization(user_id));

/** Returns the entry of a key that the operator creates or revokes. */
export const entryOf = (
	activity: "created" | "deleted",
	{
		id,
		...values
	}: { id: string; label: string; scopes: string[]; expires_at?: string | null | undefined },
	organization: SignedEntry["organization"],
) =>
	byOperator({
		activity,
		scope: "PersonalApiKey",
		item_id: id,
		name: values.label,
		values,
		organization,
	});

export async function create(env: Env, options: z.infer<typeof keyCreate>) {
	const { email, label, scopes, expires_at } = options;
	const db = drizzle(env.DB);
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
	const { id, is_active, organization } = required(user, "user with this email address");
	if (!is_active) throw new OperatorError(DEACTIVATED);
	const { value, row, insert } = await mint(db, { user_id: id, label, scopes, expires_at });
	await commit(env, db, {
		changes: [insert],
		entries: [entryOf("created", { id: row.id, label, scopes, expires_at }, organization)],
	});
	if (canWrite(row)) await mailChange(env, id, keyChanged("created", row), null);
	return { id: row.id, label, scopes, expires_at, key: value };
}

/** Revokes a key in D1, which every request checks. */
export const revoke = (env: Env, { id }: z.infer<typeof keyRevoke>) =>
	retry(() => tryRevoke(env, id));

async function tryRevoke(env: Env, id: string) {
	const db = drizzle(env.DB);
	const [row] = await db
		.select({
			label: personalApiKeys.label,
			scopes: personalApiKeys.scopes,
			organization: organizations.id,
		})
		.from(personalApiKeys)
		.leftJoin(organizations, homeOf(personalApiKeys.user_id))
		.where(eq(personalApiKeys.id, id));
	const { organization, ...key } = required(row, "key with this id");
	const byId = eq(personalApiKeys.id, id);
	await commit(env, db, endKey(db, byId, [entryOf("deleted", { id, ...key }, organization)]));
	return { revoked: id, label: key.label };
}
