import { and, eq, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import type { Context } from "hono";
import { v7 } from "uuid";
import { retry } from "../../../access/unit_of_work.ts";
import { changes as changesOf } from "../../../db/changes.ts";
import { assertThat } from "../../../db/client.ts";
import type { Entry } from "../../../db/record.ts";
import { MEMBER, OWNER } from "../../../db/schema/levels.ts";
import { domains } from "../../../db/schema/organizations.ts";
import { isPerson, members, users } from "../../../db/schema/people.ts";
import { type ScimNames, scimGroupMembers, scimUsers } from "../../../db/schema/scim.ts";
import { identities } from "../../../db/schema/sign_in.ts";
import type { App } from "../../../env.ts";
import { orNotFound } from "../../../http/errors.ts";
import { normalizeAddress } from "../../../http/fields.ts";
import { isThrough, selectLinks, unlinking } from "../../identities/links.ts";
import { join } from "../../memberships.ts";
import { identityUnlinked, mailChange, providerOfDomain } from "../../users/mails.ts";
import { ScimError } from "../errors.ts";
import * as people from "../people.ts";
import type { Directory } from "./directory.ts";
import {
	type Attribute,
	type Attributes,
	isPinned,
	ofBoolean,
	ofExactText,
	ofId,
	ofMoment,
	ofText,
	toCondition,
} from "./filter.ts";
import * as leavingOwner from "./leaving_owner.ts";
import { apply, readPatch } from "./patch.ts";
import { type Problem, settle } from "./problems.ts";
import * as rename from "./rename.ts";
import { canonical, checkMatch, type pageOf, untilWritten } from "./resource.ts";
import {
	type Body,
	columnsOf,
	ignoredIn,
	isActive,
	isVisible,
	joins,
	NAMES,
	namesOf,
	type Row,
	readAttributes,
	select,
	toAccount,
	toNames,
	toResource,
	writable,
} from "./user.ts";

const ofEmail = ofText(users.email);

const ofAddress: Attribute = {
	...ofEmail,
	compare: (op, value) =>
		op === "eq" && typeof value === "string"
			? eq(users.email, normalizeAddress(value))
			: ofEmail.compare(op, value),
};

/** The name that the provider sent, or else what it is for the account. */
const ofName = (path: string, ofAccount: SQL | SQLiteColumn) =>
	ofText(
		sql`iif(${scimUsers.names} is null, ${ofAccount}, ${scimUsers.names} ->> ${sql.raw(`'${path}'`)})`,
	);

const attributes: Attributes = {
	id: ofId(users.uuid),
	username: ofAddress,
	emails: ofAddress,
	"emails.value": ofAddress,
	// Everybody has one address, which is the one for work.
	"emails.type": ofText(sql`'work'`),
	"emails.primary": ofBoolean(sql`true`),
	displayname: ofName("$.displayName", sql`trim(${users.first_name} || ' ' || ${users.last_name})`),
	"name.formatted": ofName("$.name.formatted", sql`''`),
	"name.givenname": ofName("$.name.givenName", users.first_name),
	"name.familyname": ofName("$.name.familyName", users.last_name),
	externalid: ofExactText(scimUsers.external_id),
	active: ofBoolean(sql`${members.id} is not null and ${users.is_active}`),
	"meta.created": ofMoment(users.created_at),
	"meta.lastmodified": ofMoment(
		sql`coalesce(${scimUsers.updated_at}, ${members.updated_at}, ${users.created_at})`,
	),
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
	/** The identity that signs the user in through the domain. */
	links: Awaited<ReturnType<typeof selectLinks>>;
	/** Whether an account has the address that the request names. */
	isTaken: boolean;
};

/** SQL condition on `identities`: an account at the provider with which one of these users signs in. */
const isLink = ({ domain_id }: Directory, ids: SQL) =>
	and(sql`${identities.user_id} in (${ids})`, isThrough(eq(domains.id, domain_id)));

/**
 * Reads a user.
 * @param where a condition on `users`
 * @param address the `userName` in the request
 */
async function read(directory: Directory, where: SQL, address: string, isShown = sql`true`) {
	const ids = sql`select ${users.id} from ${users} where ${where}`;
	const [[row], state, keys, links, holders] = await directory.read(
		select(directory).where(and(where, isPerson, isShown)),
		people.selectState(directory, ids),
		people.selectEndingKeys(directory, ids),
		selectLinks(directory.db, isLink(directory, ids)),
		directory.db.select({ id: users.id }).from(users).where(eq(users.email, address)),
	);
	return (
		row && {
			row,
			state: people.toState(directory, ids, state),
			keys,
			links,
			isTaken: holders.length > 0,
		}
	);
}

/** The state of a new user before the request. */
const NOBODY: Body = { userName: "" };

/** Adds a user to the organization. Throws 409 `uniqueness` if SCIM has added them already. */
export async function insert(c: Context<App>, value: Record<string, unknown>) {
	const { directory } = c.var;
	const problems = ignoredIn(value);
	const user = readAttributes(canonical(value, NAMES), NOBODY, problems);
	return retry(async () => {
		const { userName: address } = user;
		const found = await read(directory, eq(users.email, address), address);
		const { domain } = directory.provider;
		const isEnd = user.active === false && found?.row.level != null;
		settle(c, isEnd ? "ends" : "gives", problems);
		if (!rename.isInDomain(directory, address))
			throw new ScimError(
				400,
				"invalidValue",
				`userName has to be an email address of ${domain}, which this directory is for.`,
			);
		if (!found) return create(directory, user);
		if (found.row.managed !== null && found.row.level !== null)
			throw new ScimError(409, "uniqueness", "There is a user with this userName already.");
		return save(c, found, user, user.active ?? true);
	});
}

/** Reads a user to change, of the version that `If-Match` names. */
async function readForChange(c: Context<App>, uuid: string, address = "") {
	const { directory } = c.var;
	const isUser = eq(users.uuid, uuid.toLowerCase());
	const found = orNotFound(await read(directory, isUser, address, isVisible(directory)));
	checkMatch(c, await toResource(directory, found.row));
	return found;
}

type Sent = {
	/** Returns the attributes afterwards from those before. */
	after: (before: Body) => Record<string, unknown>;
	/** The parts of the request that can't be carried out, whatever there was before. */
	problems: Problem[];
};

/** Changes a user. Whatever else the request holds, access ends. */
const change = (c: Context<App>, uuid: string, sent: Sent) =>
	untilWritten(async () => {
		const { userName: address } = readAttributes(sent.after(NOBODY), NOBODY, []);
		const found = await readForChange(c, uuid, address);
		const { row, isTaken } = found;
		const before = writable(row);
		const problems = [...sent.problems];
		const user = readAttributes(sent.after(before), before, problems);
		const problem = rename.whyNot(c.var.directory, row, { address: user.userName, isTaken });
		if (problem) problems.push(problem);
		const isGiven = user.active === true && !isActive(row);
		settle(c, user.active === false ? "ends" : isGiven ? "gives" : "keeps", problems);
		const userName = problem ? row.email : user.userName;
		return save(c, found, { ...user, userName }, user.active ?? row.level !== null);
	});

export const replace = (c: Context<App>, uuid: string, value: Record<string, unknown>) => {
	const body = canonical(value, NAMES);
	return change(c, uuid, { after: () => body, problems: ignoredIn(value) });
};

export async function patch(c: Context<App>, uuid: string, value: Record<string, unknown>) {
	const patch = readPatch(value, NAMES);
	return change(c, uuid, {
		after: (before) => apply(before, patch),
		problems: patch.problems,
	});
}

/** Ends the membership, forgets what SCIM has stored, and unlinks the account at the provider. */
export const remove = (c: Context<App>, uuid: string) =>
	untilWritten(async () => {
		const { directory } = c.var;
		const { db } = directory;
		const found = await readForChange(c, uuid);
		const { row, state } = found;
		const plan = planOf(directory, state, false);
		const ending = await prepareEnd(c, found, plan);
		const isForgotten = ({ domain_id, user_id }: typeof scimUsers | typeof scimGroupMembers) =>
			and(eq(domain_id, directory.domain_id), eq(user_id, row.user_id));
		const forgotten = {
			field: "provisioned",
			action: "deleted" as const,
			before: true,
			after: null,
		};
		const unlinked = unlinking(db, isLink(directory, sql`${row.user_id}`), found.links);
		await directory.write({
			checks: [...state.checks, ...unlinked.checks],
			changes: [
				...unlinked.changes,
				...plan.changes,
				...ending.changes,
				db.delete(scimUsers).where(isForgotten(scimUsers)),
				db.delete(scimGroupMembers).where(isForgotten(scimGroupMembers)),
			],
			entries: [
				...plan.entries,
				...(plan.entries.length === 0 ? entriesOf(state, row, [forgotten]) : []),
				...ending.entries,
				...unlinked.entries,
			],
		});
		const who = providerOfDomain(directory.provider.domain);
		for (const link of found.links)
			directory.later(mailChange(directory.env, row.user_id, identityUnlinked(link, who), null));
	});

/** Creates an account with a membership. */
async function create(directory: Directory, user: Body) {
	const { db, domain_id, organization } = directory;
	const { userName: email, active } = user;
	const names = toNames(user);
	const uuid = v7();
	const isUser = eq(users.email, email);
	const user_id = sql<number>`(select ${users.id} from ${users} where ${isUser})`;
	const isMember = active !== false;
	const joined = isMember
		? join(db, { organization, user_id, level: MEMBER, name: email, via: "scim" })
		: undefined;
	const { rows } = await directory.write({
		checks: [
			assertThat(db, sql`not exists (select 1 from ${users} where ${isUser})`, "is_current"),
		],
		changes: [
			db.insert(users).values({ uuid, email, ...toAccount(names) }),
			...(joined?.changes ?? []),
			db.insert(scimUsers).values({
				domain_id,
				user_id,
				active: isMember,
				manual: { level: MEMBER, projects: {} },
				granted: { level: 0, projects: {} },
				...columnsOf(user),
			}),
		],
		entries: [
			{ scope: "User", activity: "created", item_id: uuid, name: email },
			...(joined?.entries ?? []),
		],
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
async function save(c: Context<App>, found: Found, user: Body, active: boolean) {
	const { directory } = c.var;
	const { row, state } = found;
	if (user.active && !row.is_active)
		throw new ScimError(403, "mutability", "The operator has deactivated this account.");
	const plan = planOf(directory, state, active);
	const ending = await prepareEnd(c, found, plan);
	const columns = columnsOf(user);
	const changed = changesOf(
		shown(row.external_id, namesOf(row)),
		shown(columns.external_id, columns.names),
	);
	const renaming =
		user.userName === row.email ? undefined : rename.prepare(directory, row, user.userName);
	const entries = [...plan.entries, ...(renaming?.entries ?? [])];
	if (changed.length === 0 && entries.length === 0 && row.managed !== null)
		return toResource(directory, row);
	const isUser = eq(users.id, row.user_id);
	const renameOnlyHere = directory.db
		.update(users)
		.set(toAccount(columns.names))
		.where(and(isUser, isOnlyHere(directory)));
	const { rows } = await directory.write({
		checks: [...state.checks, ...(renaming?.checks ?? [])],
		changes: [
			...plan.changes,
			...people.upsert(
				directory,
				plan.rows.map((each) => ({ ...each, ...columns })),
			),
			...(changed.some(({ field }) => field !== "external_id") ? [renameOnlyHere] : []),
			...(renaming?.changes ?? []),
			...ending.changes,
		],
		entries: [...entries, ...entriesOf(state, row, changed), ...ending.entries],
		answers: { rows: select(directory).where(isUser) },
	});
	if (renaming) rename.tell(directory, row, user.userName);
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
async function prepareEnd(c: Context<App>, { row, state, keys }: Found, { ended }: people.Plan) {
	const { directory } = c.var;
	if (ended.length === 0) return { changes: [], entries: [] };
	if (row.level === OWNER) {
		await leavingOwner.note(
			c.var.directory,
			row,
			state.names.get(row.user_id)?.member_id ?? row.uuid,
		);
		throw new ScimError(
			403,
			"mutability",
			"An owner can't be removed by SCIM. Another owner has to lower the level first.",
		);
	}
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
	};
}
