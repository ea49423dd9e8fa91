import { and, eq, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import type { Context } from "hono";
import { v7 } from "uuid";
import * as z from "zod";
import { retry } from "../../../access/retry.ts";
import { evict } from "../../../auth/keys.ts";
import { assertThat } from "../../../db/assertion.ts";
import { changes as changesOf } from "../../../db/changes.ts";
import { aliased } from "../../../db/client.ts";
import { contains, startsWith } from "../../../db/contains.ts";
import { MEMBER, OWNER } from "../../../db/levels.ts";
import type { Entry } from "../../../db/record.ts";
import { members } from "../../../db/schema/members.ts";
import { type ScimNames, scimGroupMembers, scimUsers } from "../../../db/schema/scim.ts";
import { isPerson, users } from "../../../db/schema/users.ts";
import type { App } from "../../../env.ts";
import { orNotFound } from "../../../http/errors.ts";
import { boolean, email } from "../../../http/fields.ts";
import { ScimError } from "../../../http/scim_errors.ts";
import { lazy } from "../../../lib/lazy.ts";
import * as people from "../people.ts";
import type { Directory } from "./directory.ts";
import { type Attributes, isPinned, toCondition } from "./filter.ts";
import { apply, type Operation } from "./patch.ts";
import {
	canonical,
	checkMatch,
	type Names,
	optionalText,
	type pageOf,
	parseAs,
	type Resource,
	versioned,
} from "./resource.ts";

/** The attributes of a user that providers can set. */
export const NAMES: Names = {
	userName: [],
	externalId: [],
	active: [],
	displayName: [],
	name: ["formatted", "givenName", "familyName"],
};

const body = lazy(() =>
	z.object({
		userName: email(),
		externalId: optionalText(),
		active: boolean().nullish(),
		displayName: optionalText(),
		name: z
			.object({
				formatted: optionalText(),
				givenName: optionalText(),
				familyName: optionalText(),
			})
			.nullish(),
	}),
);

type Body = z.infer<ReturnType<typeof body>>;

const nullable = <C extends SQLiteColumn, const N extends string>(column: C, name: N) =>
	sql<C["_"]["data"] | null>`${column}`.mapWith(column).as(name);

/** SQL condition: the address of the user is in the domain. */
const inDomain = ({ domain_id, organization }: Directory) =>
	sql`substr(${users.email}, instr(${users.email}, '@') + 1) = (
		select d.domain from domains as d where d.organization_id = ${organization} and d.id = ${domain_id})`;

/** SQL condition: the user is one of the domain's, or was added by SCIM. */
const isVisible = (directory: Directory) =>
	and(
		isPerson,
		sql`(${scimUsers.user_id} is not null or (${members.id} is not null and ${inDomain(directory)}))`,
	);

/** The tables of a user, joined with `users`. */
const joins = ({ domain_id, organization }: Directory) => ({
	scim: and(eq(scimUsers.domain_id, domain_id), eq(scimUsers.user_id, users.id)),
	member: and(eq(members.organization_id, organization), eq(members.user_id, users.id)),
});

function select(directory: Directory) {
	const { scim, member } = joins(directory);
	return directory.db
		.select({
			user_id: aliased(users.id, "account_id"),
			uuid: users.uuid,
			email: users.email,
			first_name: users.first_name,
			last_name: users.last_name,
			is_active: users.is_active,
			created_at: aliased(users.created_at, "account_created_at"),
			level: nullable(members.level, "member_level"),
			joined_at: nullable(members.updated_at, "member_updated_at"),
			managed: nullable(scimUsers.user_id, "managed"),
			external_id: nullable(scimUsers.external_id, "external_id"),
			names: nullable(scimUsers.names, "names"),
			updated_at: nullable(scimUsers.updated_at, "scim_updated_at"),
			groups: sql<string>`(select json_group_array(json_array(g.id, g.display_name) order by g.id)
				from scim_group_members as gm join scim_groups as g on g.domain_id = gm.domain_id and g.id = gm.group_id
				where gm.domain_id = ${directory.domain_id} and gm.user_id = ${users.id})`.as("groups"),
		})
		.from(users)
		.leftJoin(scimUsers, scim)
		.leftJoin(members, member)
		.$dynamic();
}

type Row = Awaited<ReturnType<typeof select>>[number];

const pairs = lazy(() => z.array(z.tuple([z.string(), z.string()])));

/** Returns the names as the provider sent them, else those of the account. */
const namesOf = ({ names, first_name, last_name }: Row): ScimNames =>
	names ?? {
		displayName: `${first_name} ${last_name}`.trim() || undefined,
		name: { givenName: first_name || undefined, familyName: last_name || undefined },
	};

const isActive = ({ level, is_active }: Row) => level !== null && is_active;

/** What a provider can change, as it was before a PATCH. */
const writable = (row: Row) => ({
	userName: row.email,
	active: isActive(row),
	...(row.external_id !== null && { externalId: row.external_id }),
	...namesOf(row),
});

function toResource(directory: Directory, row: Row): Promise<Resource> {
	const { displayName, name } = namesOf(row);
	const groups = pairs().parse(JSON.parse(row.groups));
	const hasName = Object.values(name ?? {}).some((part) => part !== undefined);
	return versioned({
		schemas: ["urn:ietf:params:scim:schemas:core:2.0:User"],
		id: row.uuid,
		...(row.external_id !== null && { externalId: row.external_id }),
		userName: row.email,
		...(hasName && { name }),
		...(displayName !== undefined && { displayName }),
		active: isActive(row),
		emails: [{ value: row.email, type: "work", primary: true }],
		...(groups.length > 0 && {
			groups: groups.map(([value, display]) => ({
				value,
				display,
				$ref: `${directory.url}/Groups/${value}`,
				type: "direct",
			})),
		}),
		meta: {
			resourceType: "User",
			created: row.created_at,
			lastModified: row.updated_at ?? row.joined_at ?? row.created_at,
			location: `${directory.url}/Users/${row.uuid}`,
		},
	});
}

const ofText =
	(column: SQL | SQLiteColumn): Attributes[string] =>
	(op, value) => {
		if (typeof value !== "string") return undefined;
		if (op === "eq") return sql`lower(${column}) = lower(${value})`;
		return op === "co" ? contains(column, value) : startsWith(column, value);
	};

const ofAddress: Attributes[string] = (op, value) =>
	op === "eq" && typeof value === "string"
		? eq(users.email, value.toLowerCase())
		: ofText(users.email)(op, value);

const displayName = sql`iif(${scimUsers.names} is null,
	trim(${users.first_name} || ' ' || ${users.last_name}), coalesce(${scimUsers.names} ->> 'displayName', ''))`;

const externalId: Attributes[string] = (op, value) => {
	if (typeof value !== "string") return undefined;
	if (op === "eq") return eq(scimUsers.external_id, value);
	return sql`instr(${scimUsers.external_id}, ${value}) ${op === "co" ? sql`> 0` : sql`= 1`}`;
};

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
	id: (op, value) => (op === "eq" ? eq(users.uuid, String(value).toLowerCase()) : undefined),
	username: ofAddress,
	emails: ofAddress,
	"emails.value": ofAddress,
	"emails.type": ofType,
	"emails.primary": ofBoolean(sql`true`),
	displayname: ofText(displayName),
	externalid: externalId,
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

const byUuid = (directory: Directory, uuid: string) =>
	select(directory).where(and(eq(users.uuid, uuid.toLowerCase()), isVisible(directory)));

export async function find(directory: Directory, uuid: string) {
	const [[row]] = await directory.read(byUuid(directory, uuid));
	return toResource(directory, orNotFound(row));
}

/** Parses a user. Throws 400 if the address isn't in the domain. */
function parse({ provider }: Directory, value: unknown): Body {
	const { domain } = provider;
	const user = parseAs(body(), canonical(value, NAMES));
	if (user.userName.slice(user.userName.indexOf("@") + 1) !== domain)
		throw new ScimError(
			400,
			"invalidValue",
			`userName has to be an email address of ${domain}, which this directory is for.`,
		);
	return user;
}

/** Returns the names of a body, without what is missing. */
function toNames({ displayName, name }: Body): ScimNames {
	const { formatted, givenName, familyName } = name ?? {};
	const parts = Object.entries({ formatted, givenName, familyName }).filter(
		([, part]) => part !== null && part !== undefined,
	);
	return {
		...(parts.length > 0 && { name: Object.fromEntries(parts) }),
		...(displayName !== null && displayName !== undefined && { displayName }),
	};
}

const MAX_NAME_LENGTH = 150;

/** Returns the names of the account: if there are no parts, the whole name is the first name. */
function toAccount({ name, displayName }: ScimNames) {
	const { givenName, familyName, formatted } = name ?? {};
	const hasParts = givenName !== undefined || familyName !== undefined;
	const first = hasParts ? (givenName ?? "") : (displayName ?? formatted ?? "");
	const cut = (text: string) => [...text.replace(/\p{Cc}/gu, " ").trim()].slice(0, MAX_NAME_LENGTH);
	return { first_name: cut(first).join(""), last_name: cut(familyName ?? "").join("") };
}

/** SQL condition: the user belongs to no other organization, which would see a new name. */
const isOnlyHere = ({ organization }: Directory) =>
	sql`not exists (select 1 from members as other
		where other.user_id = ${users.id} and other.organization_id <> ${organization})`;

/** The row of `scim_users` of a body. */
const columnsOf = (user: Body) => ({
	external_id: user.externalId ?? null,
	names: toNames(user),
});

const deactivated = () =>
	new ScimError(403, "mutability", "The operator of the service has deactivated this account.");

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
export const insert = (directory: Directory, value: Record<string, unknown>) =>
	retry(async () => {
		const { userName } = Object(canonical(value, NAMES));
		const found = await read(directory, eq(users.email, String(userName).trim().toLowerCase()));
		const user = parse(directory, value);
		if (!found) return create(directory, user);
		if (found.row.managed !== null && found.row.level !== null)
			throw new ScimError(409, "uniqueness", "There is a user with this userName already.");
		return save(directory, found, user, user.active ?? true);
	});

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
 * @param change returns the attributes afterwards from those before
 */
const change = (
	c: Context<App>,
	uuid: string,
	after: (before: Record<string, unknown>) => unknown,
) =>
	retry(async () => {
		const found = await readForChange(c, uuid);
		const user = parse(c.var.directory, after(writable(found.row)));
		return save(c.var.directory, found, user, user.active ?? isActive(found.row));
	});

export const replace = (c: Context<App>, uuid: string, value: Record<string, unknown>) =>
	change(c, uuid, () => value);

export const patch = (c: Context<App>, uuid: string, operations: Operation[]) =>
	change(c, uuid, (before) => apply(before, operations));

/** Ends the membership, and forgets what SCIM has stored. */
export const remove = (c: Context<App>, uuid: string) =>
	retry(async () => {
		const { directory } = c.var;
		const { db, domain_id } = directory;
		const found = await readForChange(c, uuid);
		const { row, state } = found;
		const plan = planOf(directory, state, false);
		const ending = prepareEnd(directory, found, plan);
		const isForgotten = [
			eq(scimUsers.domain_id, domain_id),
			eq(scimUsers.user_id, row.user_id),
		] as const;
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
				db.delete(scimUsers).where(and(...isForgotten)),
				db
					.delete(scimGroupMembers)
					.where(
						and(
							eq(scimGroupMembers.domain_id, domain_id),
							eq(scimGroupMembers.user_id, row.user_id),
						),
					),
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
	const manual = { level: MEMBER, projects: {} };
	const entries: Entry[] = [
		{ scope: "User", activity: "created", item_id: uuid, name: email },
		...(isMember
			? [
					{
						scope: "Member" as const,
						activity: "created" as const,
						item_id: member_id,
						name: email,
					},
				]
			: []),
	];
	const { rows } = await directory.write({
		checks: [
			assertThat(db, sql`not exists (select 1 from ${users} where ${isUser})`, "is_current"),
		],
		changes: [
			db.insert(users).values({ uuid, email, ...toAccount(names) }),
			...(isMember
				? [
						db
							.insert(members)
							.values({ id: member_id, organization_id: organization, user_id, level: MEMBER }),
					]
				: []),
			db.insert(scimUsers).values({
				domain_id,
				user_id,
				active: isMember,
				manual,
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
	if (active && !row.is_active) throw deactivated();
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
