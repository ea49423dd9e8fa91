import { and, eq, isNull, sql } from "drizzle-orm";
import type * as z from "zod";
import { readPage } from "../../access/pages.ts";
import type { Tenant } from "../../access/tenant.ts";
import { retry } from "../../access/unit_of_work.ts";
import { currentOrganization } from "../../access/visible.ts";
import { changes, isUnchanged, settable } from "../../db/changes.ts";
import { assertExists, assertThat } from "../../db/client.ts";
import type { ActivityOf } from "../../db/event_types.ts";
import { organizationUuid } from "../../db/schema/organizations.ts";
import { personalApiKeys } from "../../db/schema/personal_api_keys.ts";
import { invalid, orNotFound } from "../../http/errors.ts";
import type { Page } from "../../http/page.ts";
import { isAllowed } from "../../keys/addresses.ts";
import { newKey } from "../../keys/keys.ts";
import { type Overlap, overlapEnd } from "../../keys/overlap.ts";
import { changeKeys, endKey, mint, remember } from "../../keys/rows.ts";
import { now } from "../../lib/time.ts";
import { canWrite, keyChanged, mailCaller } from "../users/mails.ts";
import {
	accessGivenBy,
	assertMayGive,
	checkRestrictions,
	checkRules,
	isWithinRules,
	restrictions,
	selectRules,
	storedRestrictions,
	toSql,
} from "./access.ts";
import { type Owner, selectOwner } from "./owner.ts";
import { create, MAX_KEYS, toPersonalApiKey, type update as Update } from "./shape.ts";

const select = ({ db }: Tenant) => db.select().from(personalApiKeys);

type Row = Awaited<ReturnType<typeof select>>[number];

/** WHERE clause: the owner's keys, without those of sessions and apps. */
const isOwned = ({ user_id }: Owner) =>
	and(
		eq(personalApiKeys.user_id, user_id),
		isNull(personalApiKeys.session),
		isNull(personalApiKeys.client_id),
	);

/** WHERE clause: the owner's key with this id; `@current` is the key in use. */
export const byId = ({ key }: Tenant, owner: Owner, id: string) =>
	and(isOwned(owner), eq(personalApiKeys.id, id === "@current" ? key.id : id.toLowerCase()));

/** Returns the id of the owner's user. Throws 404 if there is no such owner. */
export async function findOwner(tenant: Tenant, owner: Owner) {
	const [[user]] = await tenant.read(selectOwner(tenant, owner));
	return orNotFound(user?.id);
}

/** Newest first. Throws 404 if there is no such owner. */
export const list = (tenant: Tenant, owner: Owner, page: Page) =>
	readPage(tenant, page, {
		parent: selectOwner(tenant, owner),
		select: () => select(tenant).$dynamic(),
		where: isOwned(owner),
		by: [personalApiKeys.id],
		keys: ({ id }) => [id],
		total: countOf(owner),
		to: (row) => toPersonalApiKey(row),
	});

const read = (tenant: Tenant, owner: Owner, id: string) =>
	tenant.find(select(tenant).where(byId(tenant, owner, id)));

export const find = async (tenant: Tenant, owner: Owner, id: string) =>
	toPersonalApiKey(await read(tenant, owner, id));

/** Returns the projects of a body, and which of the two field names it uses for them. */
const projectsOf = ({ scoped_projects, scoped_teams }: z.infer<typeof Update>) =>
	scoped_projects || !scoped_teams
		? { attr: "scoped_projects", scoped_projects }
		: { attr: "scoped_teams", scoped_projects: scoped_teams };

const entry = <A extends ActivityOf<"PersonalApiKey">>(
	tenant: Tenant,
	{ isServiceAccount }: Owner,
	activity: A,
	{ id, label }: Pick<Row, "id" | "label">,
) => ({
	activity,
	scope:
		isServiceAccount || tenant.caller.is_service_account
			? ("ServiceAccountKey" as const)
			: ("PersonalApiKey" as const),
	item_id: id,
	name: label,
	organization: isServiceAccount ? tenant.organization : currentOrganization(tenant.key.user_id),
});

/** Mails the owner of a key that can change something, if the owner is a person. */
function tellOwner(
	tenant: Tenant,
	{ isServiceAccount }: Owner,
	action: Parameters<typeof keyChanged>[0],
	key: Row,
) {
	if (!isServiceAccount && canWrite(key)) mailCaller(tenant, keyChanged(action, key));
}

/** SQL for the number of the owner's keys. */
const countOf = (owner: Owner) =>
	sql<number>`(select count(*) from ${personalApiKeys} where ${isOwned(owner)})`;

/** Returns the fields of a body, with the projects under one name. */
function fieldsOf<B extends z.infer<typeof Update>>(body: B, { isServiceAccount }: Owner) {
	const { scoped_teams: _, scoped_organizations, ...fields } = body;
	const { attr, scoped_projects } = projectsOf(body);
	return {
		attr,
		body: {
			...fields,
			...(scoped_projects && { scoped_projects }),
			// Keys of service accounts are restricted to their own organization, whatever the body has.
			...(scoped_organizations && !isServiceAccount && { scoped_organizations }),
		},
	};
}

/** Creates a key. The rules are checked again if another request interferes. */
export const insert = (tenant: Tenant, owner: Owner, given: z.infer<typeof create>) =>
	retry(async () => {
		const { attr, body: fields } = fieldsOf(given, owner);
		const [organizations, visibleProjects, rules, [user]] = await tenant.read(
			...restrictions(tenant, owner, fields),
			selectRules(tenant, owner, {
				...toSql(accessGivenBy(fields)),
				...(owner.isServiceAccount && {
					organizations: sql`json_array(${organizationUuid(tenant.organization)})`,
				}),
			}),
			tenant.db
				.select({
					id: sql<number | null>`${owner.user_id}`.as("owner_id"),
					keys: countOf(owner).as("key_count"),
				})
				.from(sql`(select 1)`),
		);
		orNotFound(user?.id);
		const { organization_uuid } = tenant.caller;
		const body = {
			...fields,
			...(owner.isServiceAccount &&
				organization_uuid && { scoped_organizations: [organization_uuid] }),
		};
		const granted = accessGivenBy(body);
		await assertMayGive(tenant, granted);
		checkRestrictions("scoped_organizations", fields.scoped_organizations, organizations);
		checkRestrictions(attr, body.scoped_projects, visibleProjects);
		checkRules(granted.expires_at, rules);
		if (user && user.keys >= MAX_KEYS)
			throw invalid(
				null,
				owner.isServiceAccount
					? `A service account can have at most ${MAX_KEYS} API keys.`
					: `A user can have at most ${MAX_KEYS} personal API keys.`,
			);
		return write(tenant, owner, body);
	});

async function write(tenant: Tenant, owner: Owner, body: z.infer<typeof create>) {
	const {
		value,
		row: key,
		insert,
		select,
	} = await mint(tenant.db, {
		...body,
		user_id: owner.user_id,
	});
	const isAllowed = sql`${owner.user_id} is not null and ${countOf(owner)} < ${MAX_KEYS}
		and ${isWithinRules(tenant, owner, accessGivenBy(body))}`;
	const row = await tenant.write({
		checks: [assertThat(tenant.db, isAllowed, "is_current")],
		changes: [insert],
		entries: [{ ...entry(tenant, owner, "created", key), values: body }],
		answer: select,
	});
	await remember(tenant.env, row);
	tellOwner(tenant, owner, "created", row);
	return toPersonalApiKey(row, value);
}

/** @throws 400 if the key in use could no longer be used from the caller's address */
async function checkLockout(tenant: Tenant, id: string, allowed_ips: string[] | undefined) {
	if (id !== tenant.key.id || !allowed_ips) return;
	const { address } = tenant;
	if (!(await isAllowed(allowed_ips, address)))
		throw invalid(
			"allowed_ips",
			`The key in use must allow the address that it is used from: ${address ?? "unknown"}.`,
		);
}

/** SQL condition: the key still has the access that was checked. */
const isChecked = (tenant: Tenant, owner: Owner, row: typeof personalApiKeys.$inferSelect) =>
	and(
		byId(tenant, owner, row.id),
		isUnchanged(personalApiKeys, row, [
			"scopes",
			"scoped_organizations",
			"scoped_projects",
			"allowed_ips",
			"expires_at",
		]),
	);

export const update = (tenant: Tenant, owner: Owner, id: string, given: z.infer<typeof Update>) =>
	retry(async () => {
		const { attr, body } = fieldsOf(given, owner);
		const isThisKey = byId(tenant, owner, id);
		const [[before], organizations, visibleProjects, rules] = await tenant.read(
			select(tenant).where(isThisKey),
			...restrictions(tenant, owner, body),
			selectRules(tenant, owner, { ...storedRestrictions(isThisKey), ...toSql(body) }),
		);
		const row = orNotFound(before);
		const { label, ...access } = body;
		const granted = accessGivenBy(body, row);
		if (changes(row, access).length > 0) await assertMayGive(tenant, granted);
		checkRestrictions("scoped_organizations", body.scoped_organizations, organizations);
		checkRestrictions(attr, body.scoped_projects, visibleProjects);
		await checkLockout(tenant, row.id, body.allowed_ips);
		if (changes(row, body).length > 0) checkRules(granted.expires_at, rules);
		const logEntry = entry(tenant, owner, "updated", { id: row.id, label: label ?? row.label });
		const after = await tenant.patch(row, body, logEntry, () => ({
			checks: [
				assertExists(
					tenant.db,
					personalApiKeys,
					// An organization may have a new rule.
					and(isChecked(tenant, owner, row), isWithinRules(tenant, owner, granted)),
				),
			],
			changes: [changeKeys(tenant.db, byId(tenant, owner, row.id), body)],
			answer: select(tenant).where(byId(tenant, owner, row.id)),
		}));
		await remember(tenant.env, after);
		if (changes(row, access).length > 0) tellOwner(tenant, owner, "changed", after);
		return toPersonalApiKey(after);
	});

export async function remove(tenant: Tenant, owner: Owner, id: string) {
	const row = await read(tenant, owner, id);
	const isThis = byId(tenant, owner, row.id);
	const values = settable(create, row);
	const deleted = { ...entry(tenant, owner, "deleted", row), values };
	const type = deleted.scope === "PersonalApiKey" ? "personal_api_key" : "service_account_key";
	await tenant.write({
		...endKey(tenant.db, isThis, [deleted]),
		revokes: { type, id: row.id, user: null },
	});
}

type Roll = { overlap?: Overlap | undefined };

/** Gives the key a new value. Throws 400 if another request rolled or deleted it first. */
export const roll = (tenant: Tenant, owner: Owner, id: string, { overlap = "none" }: Roll) =>
	retry(() => tryRoll(tenant, owner, id, overlap), {
		retries: 0,
		error: () => invalid(null, "The key was rolled or removed by another request."),
	});

async function tryRoll(tenant: Tenant, owner: Owner, id: string, overlap: Overlap) {
	const isThisKey = byId(tenant, owner, id);
	const [[before], rules] = await tenant.read(
		select(tenant).where(isThisKey),
		selectRules(tenant, owner, storedRestrictions(isThisKey)),
	);
	const row = orNotFound(before);
	await assertMayGive(tenant, row);
	checkRules(row.expires_at, rules);
	if (row.expires_at !== null && row.expires_at <= now())
		throw invalid("expires_at", "The key has expired. Give it a later expires_at, then roll it.");
	const { value, columns } = await newKey();
	const unchanged = and(
		isChecked(tenant, owner, row),
		isUnchanged(personalApiKeys, row, ["hash"]),
		isWithinRules(tenant, owner, row),
	);
	const until = overlapEnd(overlap);
	const rolled = {
		...columns,
		last_rolled_at: now(),
		previous_hash: until && row.hash,
		previous_value_expires_at: until,
	};
	const after = await tenant.write({
		checks: [assertExists(tenant.db, personalApiKeys, unchanged)],
		changes: [changeKeys(tenant.db, byId(tenant, owner, row.id), rolled)],
		entries: [{ ...entry(tenant, owner, "rolled", row), trigger: { overlap } }],
		answer: select(tenant).where(byId(tenant, owner, row.id)),
	});
	await remember(tenant.env, after);
	tellOwner(tenant, owner, "rolled", after);
	return toPersonalApiKey(after, value);
}
