/** The entries of the activity log: their table, and the filters that pages share. */
import type { ActivityEntry } from "tenantry-client";
import { useQuery } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { Chip } from "../../ui/filters.tsx";
import type { Column } from "../../ui/table.tsx";
import { nameOf, Time } from "../../ui/values.tsx";
import { Changes } from "./changes.tsx";
import { GROUPS, typeOf, wordsOfType } from "./kinds.ts";

/** The filters in the URL, which have the same names as in the API. */
const NAMES = [
	"scope",
	"item_id",
	"name",
	"user",
	"email",
	"person",
	"address",
	"activity",
	"after",
	"before",
] as const;

type FilterName = (typeof NAMES)[number];
export type ChangeFilters = (
	changes: Partial<Record<FilterName | "offset", string | undefined>>,
) => void;

/** Returns the filters in the URL. */
export function useFilters(): Partial<Record<FilterName, string>> {
	const [query] = useQuery();
	return Object.fromEntries(NAMES.flatMap((name) => (query[name] ? [[name, query[name]]] : [])));
}

const sentence = (activity: string) =>
	(activity.charAt(0).toUpperCase() + activity.slice(1)).replaceAll("_", " ");

/** Returns the options of the filter by action, of one scope or of all. */
export function activitiesOf(scope: string) {
	const types = GROUPS.find((group) => group.scope === scope)?.types;
	const all = (types ?? GROUPS.flatMap(({ types }) => types)).map(
		(type) => [type.split(".")[1] ?? "", type] as const,
	);
	return [
		["", "Any action"] as const,
		...[...new Map(all)].map(
			([activity, type]) => [activity, types ? wordsOfType(type) : sentence(activity)] as const,
		),
	];
}

/** Returns the name of a plugin's job that was started. */
function jobOf(trigger: ActivityEntry["detail"]["trigger"]) {
	const job = trigger?.job;
	return typeof job === "object" && job !== null && "type" in job ? String(job.type) : null;
}

/**
 * Returns the columns of a list of entries. A click on a name filters by it.
 * @param about how the objects are named: not at all if they are all the same, or by a link
 */
export const columnsOf = (
	change: ChangeFilters,
	about: "one" | "filter" | ((id: string) => string) = "filter",
): Column<ActivityEntry>[] => [
	{
		title: "What",
		cell: ({ id, scope, activity, item_id, detail }) => (
			<>
				<strong>{wordsOfType(typeOf(scope, activity))}</strong>{" "}
				{typeof about === "function" && <a href={about(item_id)}>{detail.name ?? item_id}</a>}
				{about === "filter" && (
					<button
						type="button"
						class="link"
						title="Show only changes to this object"
						onClick={() => change({ scope, item_id, activity: undefined, offset: undefined })}
					>
						{detail.name ?? item_id}
					</button>
				)}
				{about !== "one" && " "}
				{jobOf(detail.trigger)}
				<Changes changes={detail.changes} />
				<details>
					<summary>Details</summary>
					{/* biome-ignore lint/a11y/noNoninteractiveTabindex: long lines scroll, with the keyboard too */}
					<pre tabIndex={0}>
						{JSON.stringify({ id, scope, activity, item_id, trigger: detail.trigger }, null, 2)}
					</pre>
				</details>
			</>
		),
	},
	{
		title: "Who",
		cell: ({ user }) =>
			user ? (
				<div>
					<button
						type="button"
						class="link"
						title="Show only changes by this person"
						onClick={() => change({ user: user.uuid, offset: undefined })}
					>
						{nameOf(user)}
					</button>
					<small class="below">
						<UserLink user={user} />
					</small>
				</div>
			) : (
				"Operator"
			),
	},
	{
		title: "When",
		cell: ({ created_at, origin }) => (
			<>
				<Time value={created_at} />
				{origin?.address && (
					<small class="below">
						{origin.address}
						{origin.country && `, ${origin.country}`}
					</small>
				)}
			</>
		),
	},
];

/** A link to the page of whoever acted. */
function UserLink({ user }: { user: NonNullable<ActivityEntry["user"]> }) {
	const { seesMembers, to } = useOrganization();
	const isAccount = user.email.endsWith(".invalid");
	const words = isAccount ? "Service account" : user.email;
	return seesMembers ? (
		<a href={to(`${isAccount ? "service_accounts" : "members"}/${user.uuid}`)}>{words}</a>
	) : (
		<span>{words}</span>
	);
}

/**
 * Shows the filters that were set by clicking a name in the list, with buttons that remove them.
 */
export function Chips({ entries }: { entries: ActivityEntry[] }) {
	const [{ user, email, person: part, name, item_id }] = useQuery();
	const person = entries.find((entry) => entry.user?.uuid === user)?.user;
	const item = entries.find((entry) => entry.item_id === item_id);
	return user || email || part || name || item_id ? (
		<p class="row">
			{user && <Chip name="user" words={`By ${person ? nameOf(person) : "one person"}`} />}
			{email && <Chip name="email" words={`By ${email}`} />}
			{part && <Chip name="person" words={`By ${part}`} />}
			{name && <Chip name="name" words={`About ${name}`} />}
			{item_id && <Chip name="item_id" words={`About ${item?.detail.name ?? item_id}`} />}
		</p>
	) : null;
}
