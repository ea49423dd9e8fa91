import { and, eq, gte, or, sql } from "drizzle-orm";
import { visibleTo } from "../../access/visible.ts";
import { type Database, inList } from "../../db/client.ts";
import { ADMIN } from "../../db/schema/levels.ts";
import type { Recipients } from "../../db/schema/notifications.ts";
import { projects } from "../../db/schema/organizations.ts";
import { isActivePerson, members, users } from "../../db/schema/people.ts";
import type { Event } from "./mails.ts";
import { effective, JOINS, type Type } from "./types.ts";

/** Returns the user whose key an event is about; undefined for other events. */
const ownerOf = ({ trigger }: Event) =>
	typeof trigger?.user_uuid === "string" ? trigger.user_uuid : undefined;

/**
 * Selects the users who may get a mail about the events: active members, without service accounts,
 * who are admins or whose UUID is in `uuids`. Includes which of the events' projects each of them
 * can see.
 */
const selectPeople = (db: Database, organization_id: number, uuids: string[], events: Event[]) => {
	const inEvents = inList(
		projects.id,
		events.map(({ project_id }) => project_id),
	);
	const isOwn = eq(projects.organization_id, organization_id);
	return db
		.select({
			uuid: users.uuid,
			email: users.email,
			level: members.level,
			projects:
				sql`(select json_group_array(${projects.id}) from ${projects} where ${and(inEvents, isOwn, visibleTo(users.id))})`
					.mapWith((json): number[] => JSON.parse(json))
					.as("visible_projects"),
		})
		.from(members)
		.innerJoin(users, eq(users.id, members.user_id))
		.where(
			and(
				eq(members.organization_id, organization_id),
				isActivePerson,
				or(gte(members.level, ADMIN), inList(users.uuid, uuids)),
			),
		);
};

type Person = Awaited<ReturnType<typeof selectPeople>>[number];

const isAdmin = ({ level }: Person) => level >= ADMIN;

/** Whether a user can see an event: those of deleted projects are only for admins. */
const canSee = (person: Person, { project_id }: Event) =>
	project_id === null || isAdmin(person) || person.projects.includes(project_id);

/** The mails of a person. */
type Addressee = { uuid: string; email: string; events: Event[] };

/**
 * Returns who gets a mail, and about which of the events. An event that none of the recipients can
 * see goes to the admins. Nobody is told that they joined themselves.
 * @param set the recipients that the organization has set; null: the default
 */
export async function addressees(
	db: Database,
	organization_id: number,
	{ type, set, events }: { type: Type; set: Recipients | null; events: Event[] },
): Promise<Addressee[]> {
	const listed = Array.isArray(set) ? set : [];
	const owners = events.flatMap((event) => ownerOf(event) ?? []);
	const people = await selectPeople(db, organization_id, [...listed, ...owners], events);
	const recipients = effective(
		type,
		set,
		people.map(({ uuid }) => uuid),
	);
	const isChosen = (person: Person, event: Event) =>
		recipients === "admins"
			? isAdmin(person)
			: recipients === "owner"
				? person.uuid === ownerOf(event)
				: recipients.includes(person.uuid);
	if (recipients.length === 0) return [];
	const mails = people.map(({ uuid, email }): Addressee => ({ uuid, email, events: [] }));
	for (const event of events) {
		const isOther = ({ email }: Person) => type !== JOINS || email !== event.name;
		const chosen = people.filter((person) => isChosen(person, event) && canSee(person, event));
		const told = (chosen.length > 0 ? chosen : people.filter(isAdmin)).filter(isOther);
		for (const person of told) mails[people.indexOf(person)]?.events.push(event);
	}
	return mails.filter(({ events }) => events.length > 0);
}
