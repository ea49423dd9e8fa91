import { and, eq, sql } from "drizzle-orm";
import type { Context } from "hono";
import { v7 } from "uuid";
import { retry } from "../../../../access/unit_of_work.ts";
import { changes as changesOf } from "../../../../db/changes.ts";
import { assertThat } from "../../../../db/client.ts";
import { MEMBER } from "../../../../db/schema/levels.ts";
import { users } from "../../../../db/schema/people.ts";
import { type ScimNames, scimUsers } from "../../../../db/schema/scim.ts";
import type { App } from "../../../../env.ts";
import { orNotFound } from "../../../../http/errors.ts";
import { join } from "../../../memberships.ts";
import { ScimError } from "../../errors.ts";
import * as people from "../../people.ts";
import type { Directory } from "../directory.ts";
import { apply, readPatch } from "../patch.ts";
import { type Problem, settle } from "../problems.ts";
import { canonical, untilWritten } from "../resource.ts";
import { prepareEnd } from "./end.ts";
import { entriesOf, type Found, planOf, read, readForChange } from "./found.ts";
import * as rename from "./rename.ts";
import {
	type Body,
	columnsOf,
	ignoredIn,
	isActive,
	NAMES,
	namesOf,
	readAttributes,
	select,
	toAccount,
	toNames,
	toResource,
	writable,
} from "./user.ts";

/** SQL condition: the user belongs to no other organization, which would see a new name. */
const isOnlyHere = ({ organization }: Directory) =>
	sql`not exists (select 1 from members as other
		where other.user_id = ${users.id} and other.organization_id <> ${organization})`;

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
			{
				scope: "User",
				activity: "created",
				item_id: uuid,
				name: email,
				values: { email, ...toAccount(names) },
			},
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
