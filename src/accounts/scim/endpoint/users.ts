import { and, eq, type SQL, sql } from "drizzle-orm";
import type { Context } from "hono";
import { v7 } from "uuid";
import { retry } from "../../../access/retry.ts";
import { evict } from "../../../auth/keys.ts";
import { assertThat } from "../../../db/assertion.ts";
import { changes as changesOf } from "../../../db/changes.ts";
import { MEMBER, OWNER } from "../../../db/levels.ts";
import type { Entry } from "../../../db/record.ts";
import { members } from "../../../db/schema/members.ts";
import { type ScimNames, scimGroupMembers, scimUsers } from "../../../db/schema/scim.ts";
import { isPerson, users } from "../../../db/schema/users.ts";
import type { App } from "../../../env.ts";
import { orNotFound } from "../../../http/errors.ts";
import { normalizeAddress } from "../../../http/fields.ts";
import { ScimError } from "../../../http/scim_errors.ts";
import * as people from "../people.ts";
import type { Directory } from "./directory.ts";
import { type Attributes, isPinned, ofExactText, ofId, ofText, toCondition } from "./filter.ts";
import { apply, readOperations } from "./patch.ts";
import { checkMatch, type pageOf } from "./resource.ts";
import {
	type Body,
	columnsOf,
	isActive,
	isVisible,
	joins,
	NAMES,
	namesOf,
	parse,
	type Row,
	select,
	toAccount,
	toNames,
	toResource,
	writable,
} from "./user.ts";

const ofAddress: Attributes[string] = (op, value) =>
	op === "eq" && typeof value === "string"
		? eq(users.email, normalizeAddress(value))
		: ofText(users.email)(op, value);

const displayName = sql`iif(${scimUsers.names} is null,
	trim(${users.first_name} || ' ' || ${users.last_name}), coalesce(${scimUsers.names} ->> 'displayName', ''))`;

const ofBoolean =
	(condition: SQL): Attributes[string] =>
	(op, value) => {
		const wanted = typeof value === "string" ? value.toLowerCase() === "true" : value;
		return op === "eq" && typeof wanted === "boolean"
			? sql`(${condition}) = ${wanted ? 1 : 0}`
			: undefined;
	};

/** Everybody has one address, which is the one for work. */
const ofType: Attributes[string] = (op, value) =>
	op === "eq" ? (value === "work" ? sql`true` : sql`false`) : undefined;

const attributes: Attributes = {
	id: ofId((id) => eq(users.uuid, id)),
	username: ofAddress,
	emails: ofAddress,
	"emails.value": ofAddress,
	"emails.type": ofType,
	"emails.primary": ofBoolean(sql`true`),
	displayname: ofText(displayName),
	externalid: ofExactText(scimUsers.external_id),
	active: ofBoolean(sql`${members.id} is not null and ${users.is_active}`),
};

const PINNED = ["id", "username", "emails", "emails.value", "externalid"];

/** Lists users by their age. Returns the page, and their number. */
export async function list(
	directory: Directory,
	{ start, count, filter }: ReturnType<typeof pageOf>,
) {
	const { organization, domain_id, db } = directory;
	// Without this, the list would start from all accounts of the service.
	const isCandidate = sql`${users.id} in (
		select c.user_id from scim_users as c where c.domain_id = ${domain_id}
		union select m.user_id from members as m where m.organization_id = ${organization})`;
	const where = and(
		filter !== undefined && isPinned(filter, PINNED) ? undefined : isCandidate,
		isVisible(directory),
		filter === undefined ? undefined : toCondition(filter, attributes),
	);
	const { scim, member } = joins(directory);
	const [rows, [counted]] = await directory.read(
		select(directory)
			.where(where)
			.orderBy(users.id)
			.limit(count)
			.offset(start - 1),
		db
			.select({ total: sql<number>`count(*)`.as("total") })
			.from(users)
			.leftJoin(scimUsers, scim)
			.leftJoin(members, member)
			.where(where),
	);
	const resources = await Promise.all(rows.map((row) => toResource(directory, row)));
	return { resources, total: counted?.total ?? 0 };
}

export async function find(directory: Directory, uuid: string) {
	const isUser = and(eq(users.uuid, uuid.toLowerCase()), isVisible(directory));
	const [[row]] = await directory.read(select(directory).where(isUser));
	return toResource(directory, orNotFound(row));
}

/** SQL condition: the user belongs to no other organization, which would see a new name. */
const isOnlyHere = ({ organization }: Directory) =>
	sql`not exists (select 1 from members as other
		where other.user_id = ${users.id} and other.organization_id <> ${organization})`;

/** A user with all that a change needs. */
type Found = {
	row: Row;
	state: people.State;
	/** The keys that end if the membership does. */
	keys: Awaited<ReturnType<typeof people.selectEndingKeys>>;
};

/** Reads a user. `where` is a condition on `users`. */
async function read(directory: Directory, where: SQL, isShown = sql`true`) {
	const ids = sql`select ${users.id} from ${users} where ${where}`;
	const [[row], state, keys] = await directory.read(
		select(directory).where(and(where, isPerson, isShown)),
		people.selectState(directory, ids),
		people.selectEndingKeys(directory, ids),
	);
	return row && { row, state: people.toState(directory, ids, state), keys };
}

/** Adds a user to the organization. Throws 409 `uniqueness` if SCIM has added them already. */
export async function insert(directory: Directory, value: Record<string, unknown>) {
	const user = parse(value);
	return retry(async () => {
		const found = await read(directory, eq(users.email, user.userName));
		const { domain } = directory.provider;
		if (user.userName.slice(user.userName.indexOf("@") + 1) !== domain)
			throw new ScimError(
				400,
				"invalidValue",
				`userName has to be an email address of ${domain}, which this directory is for.`,
			);
		if (!found) return create(directory, user);
		if (found.row.managed !== null && found.row.level !== null)
			throw new ScimError(409, "uniqueness", "There is a user with this userName already.");
		return save(directory, found, user, user.active ?? true);
	});
}

/** Reads a user to change, of the version that `If-Match` names. */
async function readForChange(c: Context<App>, uuid: string) {
	const { directory } = c.var;
	const isUser = eq(users.uuid, uuid.toLowerCase());
	const found = orNotFound(await read(directory, isUser, isVisible(directory)));
	checkMatch(c, await toResource(directory, found.row));
	return found;
}

/**
 * Changes a user.
 * @param after returns the attributes afterwards from those before
 */
const change = (
	c: Context<App>,
	uuid: string,
	after: (before: Record<string, unknown>) => unknown,
) =>
	retry(async () => {
		const found = await readForChange(c, uuid);
		const user = parse(after(writable(found.row)));
		return save(c.var.directory, found, user, user.active ?? isActive(found.row));
	});

export const replace = (c: Context<App>, uuid: string, value: Record<string, unknown>) =>
	change(c, uuid, () => value);

export async function patch(c: Context<App>, uuid: string, value: Record<string, unknown>) {
	const operations = readOperations(value, NAMES);
	return change(c, uuid, (before) => apply(before, operations));
}

/** Ends the membership, and forgets what SCIM has stored. */
export const remove = (c: Context<App>, uuid: string) =>
	retry(async () => {
		const { directory } = c.var;
		const { db } = directory;
		const found = await readForChange(c, uuid);
		const { row, state } = found;
		const plan = planOf(directory, state, false);
		const ending = prepareEnd(directory, found, plan);
		const isForgotten = ({ domain_id, user_id }: typeof scimUsers | typeof scimGroupMembers) =>
			and(eq(domain_id, directory.domain_id), eq(user_id, row.user_id));
		const forgotten = {
			field: "provisioned",
			action: "deleted" as const,
			before: true,
			after: null,
		};
		await directory.write({
			checks: state.checks,
			changes: [
				...plan.changes,
				...ending.changes,
				db.delete(scimUsers).where(isForgotten(scimUsers)),
				db.delete(scimGroupMembers).where(isForgotten(scimGroupMembers)),
			],
			entries: [
				...plan.entries,
				...(plan.entries.length === 0 ? entriesOf(state, row, [forgotten]) : []),
				...ending.entries,
			],
		});
		await ending.forget();
	});

/** Creates an account with a membership. */
async function create(directory: Directory, user: Body) {
	const { db, domain_id, organization } = directory;
	const { userName: email, active } = user;
	const names = toNames(user);
	const [uuid, member_id] = [v7(), v7()];
	const isUser = eq(users.email, email);
	const user_id = sql<number>`(select ${users.id} from ${users} where ${isUser})`;
	const isMember = active !== false;
	const joined: Entry = { scope: "Member", activity: "created", item_id: member_id, name: email };
	const entries: Entry[] = [
		{ scope: "User", activity: "created", item_id: uuid, name: email },
		...(isMember ? [joined] : []),
	];
	const member = { id: member_id, organization_id: organization, user_id, level: MEMBER };
	const { rows } = await directory.write({
		checks: [
			assertThat(db, sql`not exists (select 1 from ${users} where ${isUser})`, "is_current"),
		],
		changes: [
			db.insert(users).values({ uuid, email, ...toAccount(names) }),
			...(isMember ? [db.insert(members).values(member)] : []),
			db.insert(scimUsers).values({
				domain_id,
				user_id,
				active: isMember,
				manual: { level: MEMBER, projects: {} },
				granted: { level: 0, projects: {} },
				...columnsOf(user),
			}),
		],
		entries,
		answers: { rows: select(directory).where(isUser) },
	});
	return toResource(directory, orNotFound(rows[0]));
}

/** Attributes for the activity log, null where they are missing. */
function shown(external_id: string | null, { displayName, name = {} }: ScimNames) {
	const { formatted, givenName, familyName } = name;
	return {
		external_id,
		displayName: displayName ?? null,
		"name.formatted": formatted ?? null,
		"name.givenName": givenName ?? null,
		"name.familyName": familyName ?? null,
	};
}

const planOf = (directory: Directory, state: people.State, active: boolean) =>
	people.plan(
		directory,
		state,
		state.people.map((person) => ({ person, active, groups: person.groups })),
	);

/** Gives a known user the attributes of a body, and the access that follows. */
async function save(directory: Directory, found: Found, user: Body, active: boolean) {
	const { row, state } = found;
	if (user.userName !== row.email)
		throw new ScimError(
			400,
			"mutability",
			`userName can't change: it is the address of the account (${row.email}).`,
		);
	if (active && !row.is_active)
		throw new ScimError(403, "mutability", "The operator has deactivated this account.");
	const plan = planOf(directory, state, active);
	const ending = prepareEnd(directory, found, plan);
	const columns = columnsOf(user);
	const changed = changesOf(
		shown(row.external_id, namesOf(row)),
		shown(columns.external_id, columns.names),
	);
	if (changed.length === 0 && plan.entries.length === 0 && row.managed !== null)
		return toResource(directory, row);
	const isUser = eq(users.id, row.user_id);
	const rename = directory.db
		.update(users)
		.set(toAccount(columns.names))
		.where(and(isUser, isOnlyHere(directory)));
	const { rows } = await directory.write({
		checks: state.checks,
		changes: [
			...plan.changes,
			...people.upsert(
				directory,
				plan.rows.map((each) => ({ ...each, ...columns })),
			),
			...(changed.some(({ field }) => field !== "external_id") ? [rename] : []),
			...ending.changes,
		],
		entries: [...plan.entries, ...entriesOf(state, row, changed), ...ending.entries],
		answers: { rows: select(directory).where(isUser) },
	});
	await ending.forget();
	return toResource(directory, orNotFound(rows[0]));
}

/** The entry of changed attributes, besides the access. */
function entriesOf(
	{ names }: people.State,
	row: Row,
	changes: ReturnType<typeof changesOf>,
): Entry[] {
	if (changes.length === 0) return [];
	const item_id = names.get(row.user_id)?.member_id ?? row.uuid;
	return [{ scope: "Member", activity: "updated", item_id, name: row.email, changes }];
}

/** Returns what ends with a membership, besides it. Throws 403 for an owner. */
function prepareEnd(directory: Directory, { row, keys }: Found, { ended }: people.Plan) {
	if (ended.length === 0) return { changes: [], entries: [], forget: async () => {} };
	if (row.level === OWNER)
		throw new ScimError(
			403,
			"mutability",
			"An owner can't be removed by SCIM. Another owner has to lower the level first.",
		);
	return {
		changes: people.endAccess(directory, row.user_id, row.email),
		entries: keys.map(
			({ id, label }): Entry => ({
				scope: "PersonalApiKey",
				activity: "deleted",
				item_id: id,
				name: label,
			}),
		),
		forget: async () => {
			await Promise.all(keys.map(({ hash }) => evict(directory.env, hash)));
		},
	};
}
