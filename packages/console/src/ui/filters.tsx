import type { ComponentChildren } from "preact";
import { useQuery } from "../load.ts";
import { useDelay } from "./delay.ts";
import { fromLocal, toLocal } from "./moments.ts";

/** The filters above a list. Their values are in the URL. */
export const Filters = ({ children }: { children: ComponentChildren }) => (
	<search class="filters">{children}</search>
);

/**
 * The search field of a list. `name` is the URL parameter.
 * @param offset the URL parameter of the offset, if the page has several lists
 */
export function Search({
	name = "search",
	label,
	offset = "offset",
}: {
	name?: string;
	label: string;
	offset?: string;
}) {
	const [query, change] = useQuery();
	const { delay } = useDelay();
	return (
		<input
			type="search"
			aria-label={label}
			placeholder={label}
			defaultValue={query[name] ?? ""}
			onInput={({ currentTarget }) => {
				const { value } = currentTarget;
				delay(() => change({ [name]: value, [offset]: undefined }));
			}}
		/>
	);
}

export function Filter({
	name,
	label,
	options,
}: {
	name: string;
	label: string;
	/** Values and labels. The value "" means no filter. */
	options: readonly (readonly [value: string, words: string])[];
}) {
	const [query, change] = useQuery();
	return (
		<select
			aria-label={label}
			value={query[name] ?? ""}
			onChange={({ currentTarget }) => change({ [name]: currentTarget.value, offset: undefined })}
		>
			{options.map(([value, words]) => (
				<option key={value} value={value}>
					{words}
				</option>
			))}
		</select>
	);
}

/** A filter by project, of all at first; nothing if there is only one. */
export const ProjectFilter = ({
	projects,
}: {
	projects: readonly { id: number; name: string }[];
}) =>
	projects.length > 1 ? (
		<Filter
			name="project"
			label="Project"
			options={[
				["", "All projects"],
				...projects.map(({ id, name }) => [String(id), name] as const),
			]}
		/>
	) : null;

type Bound = { name: string; label: string };

/** A filter by time, in the zone of the console. */
export const RangeFilter = ({ from, to }: { from: Bound; to: Bound }) => (
	<div class="range">
		<Moment {...from} />
		<Moment {...to} />
	</div>
);

function Moment({ name, label }: Bound) {
	const [query, change] = useQuery();
	const at = Date.parse(query[name] ?? "");
	return (
		<label class="moment">
			{label}
			<input
				type="datetime-local"
				value={Number.isNaN(at) ? "" : toLocal(at)}
				onChange={({ currentTarget }) =>
					change({ [name]: fromLocal(currentTarget.value) ?? "", offset: undefined })
				}
			/>
		</label>
	);
}

/** A button that removes a filter, which was set by clicking a value in the list. */
export function Chip({ name, words }: { name: string; words: string }) {
	const [, change] = useQuery();
	return (
		<button
			type="button"
			class="chip"
			aria-label={`Remove the filter ${words}`}
			onClick={() => change({ [name]: undefined, offset: undefined })}
		>
			{words} <span aria-hidden="true">×</span>
		</button>
	);
}
