import type { ComponentChildren } from "preact";
import type { PersonalApiKey } from "tenantry-client";
import { has, type List, MAX_ROWS, useList, useQuery } from "../../load.ts";
import { SecondaryButton } from "../../ui/button.tsx";
import { Empty } from "../../ui/feedback.tsx";
import { Filter, Filters, Search } from "../../ui/filters.tsx";
import { summaryOf } from "../../ui/scopes.ts";
import { type Column, Table } from "../../ui/table.tsx";
import { Badge, Time } from "../../ui/values.tsx";
import type { Keys } from "./keys.ts";
import { expiresSoon, isExpired, STATES } from "./states.ts";

const plural = (count: number, one: string, many = `${one}s`) =>
	`${count} ${count === 1 ? one : many}`;

/** Returns a summary of a key's restrictions; "" if it has none. */
const restrictionsOf = (
	{ scoped_projects, scoped_organizations, allowed_ips }: PersonalApiKey,
	isOwn: boolean,
) =>
	[
		scoped_projects.length > 0 && plural(scoped_projects.length, "project"),
		isOwn && scoped_organizations.length > 0 && plural(scoped_organizations.length, "organization"),
		allowed_ips.length > 0 && plural(allowed_ips.length, "IP address", "IP addresses"),
	]
		.filter(Boolean)
		.join(", ");

const columnsOf = <K extends PersonalApiKey>(
	keys: Keys<K>,
	currentId: string | undefined,
): Column<K>[] => [
	{
		title: "Name",
		cell: (key) => (
			<>
				<a href={keys.to(key.id)}>
					<strong>{key.label}</strong>
				</a>{" "}
				{key.id === currentId && <Badge mood="good">This session</Badge>}
				<small class="below">
					<code class="key-value">{key.mask_value}</code>
				</small>
			</>
		),
	},
	{
		title: "Permissions",
		cell: (key) => {
			const restrictions = restrictionsOf(key, keys.organization === undefined);
			return (
				<div>
					{summaryOf(key.scopes)}
					{restrictions && <small class="below">Only {restrictions}</small>}
				</div>
			);
		},
	},
	{
		title: "Last used",
		cell: ({ last_used_at }) => (last_used_at ? <Time value={last_used_at} isRelative /> : "Never"),
	},
	{
		title: "Expires",
		cell: (key) => {
			if (!key.expires_at) return "Never";
			const time = <Time value={key.expires_at} isRelative />;
			if (isExpired(key)) return <Badge mood="bad">Expired {time}</Badge>;
			return expiresSoon(key) ? <Badge mood="warn">{time}</Badge> : time;
		},
	},
];

/** Applies the filters in the URL to an owner's keys, of which there are few. */
function shownOf<K extends PersonalApiKey>(list: List<K>, search: string, state: string): List<K> {
	if (!list.data) return list;
	const shows = STATES.find(([value]) => value === state)?.[2];
	const results = list.data.results.filter(
		(key) => (shows?.(key) ?? true) && has(`${key.label} ${key.mask_value}`, search),
	);
	return { ...list, data: { ...list.data, results, count: results.length } };
}

function Soon({ keys }: { keys: readonly PersonalApiKey[] }) {
	const [, change] = useQuery();
	const count = keys.filter(expiresSoon).length;
	if (count === 0) return null;
	return (
		<p class="key-soon">
			{count === 1 ? "One key expires" : `${count} keys expire`} within 7 days.{" "}
			<button
				type="button"
				class="link"
				onClick={() => change({ state: "expires_soon", search: undefined })}
			>
				Show
			</button>
		</p>
	);
}

export function KeyList<K extends PersonalApiKey>({
	keys,
	currentId,
	empty,
}: {
	keys: Keys<K>;
	/** The id of the key of this session. */
	currentId: string | undefined;
	empty: ComponentChildren;
}) {
	const [{ search = "", state = "" }, change] = useQuery();
	const list = useList((page, signal) => keys.list(page, { signal }), [keys.to("")], {
		limit: MAX_ROWS,
	});
	const all = list.data?.results ?? [];
	const hasFilters = search !== "" || state !== "";
	return (
		<>
			{state !== "expires_soon" && <Soon keys={all} />}
			{(all.length > 1 || hasFilters) && (
				<Filters>
					<Search label="Search keys" />
					<Filter
						name="state"
						label="State"
						options={STATES.map(([value, words]) => [value, words])}
					/>
				</Filters>
			)}
			<Table
				list={shownOf(list, search, state)}
				label="Keys"
				columns={columnsOf(keys, currentId)}
				empty={
					hasFilters && all.length > 0 ? (
						<Empty title="No keys found">
							<SecondaryButton onPress={() => change({ search: undefined, state: undefined })}>
								Show all keys
							</SecondaryButton>
						</Empty>
					) : (
						empty
					)
				}
			/>
		</>
	);
}
