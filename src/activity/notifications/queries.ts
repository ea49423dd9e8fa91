import { and, eq, sql } from "drizzle-orm";
import type * as z from "zod";
import type { Tenant } from "../../access/tenant.ts";
import { changes } from "../../db/changes.ts";
import { inList } from "../../db/client.ts";
import { alerts, notifications } from "../../db/schema/notifications.ts";
import { organizations } from "../../db/schema/organizations.ts";
import { isActivePerson, members, users } from "../../db/schema/people.ts";
import { doesNotExist, orNotFound } from "../../http/errors.ts";
import type { Notifications, update as Update } from "./shape.ts";
import { columnsOf, effective, JOINS, TYPES } from "./types.ts";

/** SQL for the UUIDs of the active members in the list of a row of `notifications`, as JSON. */
const activeRecipients = sql`(select json_group_array(listed.value)
	from json_each(notifications.recipients) as listed join users as u on u.uuid = listed.value
	join members as m on m.user_id = u.id and m.organization_id = notifications.organization_id where u.is_active)`
	.mapWith((json): string[] => JSON.parse(json))
	.as("active");

/** Selects the settings of the organization; a row without a type if it has none. */
const select = ({ db, organization }: Tenant) =>
	db
		.select({
			tells_of_joins: organizations.is_member_join_email_enabled,
			scope: notifications.scope,
			activity: notifications.activity,
			recipients: notifications.recipients,
			active: activeRecipients,
		})
		.from(organizations)
		.leftJoin(notifications, eq(notifications.organization_id, organizations.id))
		.where(eq(organizations.id, organization));

type Row = Awaited<ReturnType<typeof select>>[number];

const toNotifications = (rows: Row[]): z.infer<typeof Notifications> => ({
	subscriptions: TYPES.map((type) => {
		if (type === JOINS && !rows[0]?.tells_of_joins) return { type, recipients: [] };
		const { scope, activity } = columnsOf(type);
		const row = rows.find((row) => row.scope === scope && row.activity === activity);
		return { type, recipients: effective(type, row?.recipients ?? null, row?.active ?? []) };
	}),
});

export async function find(tenant: Tenant) {
	const [rows] = await tenant.read(select(tenant));
	return toNotifications(rows);
}

type Subscriptions = z.infer<typeof Notifications>["subscriptions"];

/** @throws 400 for the first recipient that isn't an active member */
function checkMembers(wanted: Subscriptions, known: { uuid: string }[]) {
	const uuids = new Set(known.map(({ uuid }) => uuid));
	for (const [i, { recipients }] of wanted.entries())
		for (const [j, uuid] of Array.isArray(recipients) ? recipients.entries() : [])
			if (!uuids.has(uuid)) throw doesNotExist(`subscriptions__${i}__recipients__${j}`, uuid);
}

/** Selects the active members among the UUIDs in a body, without service accounts. */
const selectMembers = ({ db, organization }: Tenant, wanted: Subscriptions) =>
	db
		.select({ uuid: users.uuid })
		.from(users)
		.innerJoin(
			members,
			and(eq(members.user_id, users.id), eq(members.organization_id, organization)),
		)
		.where(
			and(
				isActivePerson,
				inList(
					users.uuid,
					wanted.flatMap(({ recipients }) => (Array.isArray(recipients) ? recipients : [])),
				),
			),
		);

/** Changes the subscriptions in the body, and no others. */
export async function update(
	tenant: Tenant,
	{ subscriptions: wanted = [] }: z.infer<typeof Update>,
) {
	const { db, organization } = tenant;
	const [rows, known, [row]] = await tenant.read(
		select(tenant),
		selectMembers(tenant, wanted),
		db
			.select({ id: organizations.id, uuid: organizations.uuid, name: organizations.name })
			.from(organizations)
			.where(eq(organizations.id, organization)),
	);
	checkMembers(wanted, known);
	const before = toNotifications(rows);
	const was = new Map(before.subscriptions.map((one) => [one.type, one]));
	const changed = wanted.filter((one) => changes(was.get(one.type) ?? {}, one).length > 0);
	if (changed.length === 0) return before;
	const { id, uuid, name } = orNotFound(row);
	const joins = changed.find(({ type }) => type === JOINS);
	const settings = JSON.stringify(
		changed.map(({ type, recipients }) => ({
			...columnsOf(type),
			// Whether these are mailed at all is in the organization's row.
			recipients: type === JOINS && recipients.length === 0 ? null : recipients,
		})),
	);
	const after = await tenant.write({
		changes: [
			db
				.insert(notifications)
				.select(
					sql`select ${id}, value ->> 'scope', value ->> 'activity', nullif(value -> 'recipients', 'null'), '' from json_each(${settings}) where true`,
				)
				.onConflictDoUpdate({
					target: [notifications.organization_id, notifications.scope, notifications.activity],
					set: { recipients: sql`excluded.recipients` },
				}),
			...(joins
				? [
						db
							.update(organizations)
							.set({ is_member_join_email_enabled: joins.recipients.length > 0 })
							.where(eq(organizations.id, id)),
					]
				: []),
			// Alerts of types that are no longer mailed.
			db.delete(alerts).where(
				and(
					eq(alerts.organization_id, id),
					sql`(${alerts.scope}, ${alerts.activity}) in (select value ->> 'scope', value ->> 'activity'
							from json_each(${settings}) where value -> 'recipients' in ('[]', 'null'))`,
				),
			),
		],
		entries: [
			{
				activity: "updated",
				scope: "Organization",
				item_id: uuid,
				name,
				changes: changes(
					{ notifications: changed.map(({ type }) => was.get(type)) },
					{ notifications: changed },
				),
			},
		],
		rows: select(tenant),
	});
	return toNotifications(after);
}
