import { useState } from "preact/hooks";
import { has } from "../../load.ts";
import { Choice, Group, rejection } from "../../ui/form.tsx";
import { GROUPS, wordsOfType } from "./kinds.ts";

function Tick({
	label,
	isTicked,
	isPartly = false,
	isDisabled = false,
	onChange,
}: {
	label: string;
	isTicked: boolean;
	/** Whether some, but not all, types of the group are selected. */
	isPartly?: boolean;
	isDisabled?: boolean;
	onChange: (isTicked: boolean) => void;
}) {
	return (
		<label>
			<input
				type="checkbox"
				checked={isTicked}
				indeterminate={isPartly}
				disabled={isDisabled}
				onChange={({ currentTarget }) => onChange(currentTarget.checked)}
			/>
			{label}
		</label>
	);
}

/** The checkboxes of a group. A group with only one type has no checkbox for all. */
function TypeGroup({
	group: { title, all, types },
	chosen,
	onChange,
}: {
	group: (typeof GROUPS)[number];
	chosen: readonly string[];
	onChange: (chosen: string[]) => void;
}) {
	const isAll = chosen.includes(all);
	const without = (types: readonly string[]) => chosen.filter((type) => !types.includes(type));
	return (
		<fieldset class={types.length > 1 ? "type-group" : "type-group single"}>
			<legend class="unseen">{title}</legend>
			{(types.length > 1 || isAll) && (
				<div class="type-all">
					<Tick
						label={`${title}: all`}
						isTicked={isAll}
						isPartly={!isAll && types.some((type) => chosen.includes(type))}
						onChange={(isTicked) =>
							onChange([...without([all, ...types]), ...(isTicked ? [all] : [])])
						}
					/>
				</div>
			)}
			{types.map((type) => (
				<Tick
					key={type}
					label={wordsOfType(type)}
					isTicked={isAll || chosen.includes(type)}
					isDisabled={isAll}
					onChange={(isTicked) => onChange([...without([type]), ...(isTicked ? [type] : [])])}
				/>
			))}
		</fieldset>
	);
}

/**
 * Checkboxes for event types, and for groups, which include types that are added later.
 * @param chosen types, and wildcards such as `member.*`
 */
function TypePicker({
	chosen,
	onChange,
}: {
	chosen: readonly string[];
	onChange: (chosen: string[]) => void;
}) {
	const [search, setSearch] = useState("");
	const shown = GROUPS.filter(({ title, types }) =>
		[title, ...types, ...types.map(wordsOfType)].some((text) => has(text, search)),
	);
	return (
		<div class="types">
			<input
				type="search"
				aria-label="Search events"
				placeholder="Search events"
				value={search}
				onInput={({ currentTarget }) => setSearch(currentTarget.value)}
				onKeyDown={(event) => event.key === "Enter" && event.preventDefault()}
			/>
			<div class="type-groups">
				{shown.map((group) => (
					<TypeGroup key={group.all} group={group} chosen={chosen} onChange={onChange} />
				))}
			</div>
			{shown.length === 0 && <p class="quiet">No event contains “{search}”.</p>}
		</div>
	);
}

/** A choice of all events (`undefined`) or some types. */
export function WhichEvents({
	types,
	onChange,
}: {
	types: readonly string[] | undefined;
	onChange: (types: string[] | undefined) => void;
}) {
	return (
		<Group label="Events">
			<Choice
				name="which"
				label="All events"
				hint="Including types that are added later."
				checked={types === undefined}
				onChange={() => onChange(undefined)}
			/>
			<Choice
				name="which"
				label={types?.length ? `Selected events: ${types.length}` : "Selected events"}
				checked={types !== undefined}
				onChange={() => onChange([...(types ?? [])])}
			/>
			{types && <TypePicker chosen={types} onChange={onChange} />}
			{/* The hidden field makes the selection count as a change of the form. */}
			<input type="hidden" name="chosen_types" value={types?.toSorted().join(" ") ?? "all"} />
		</Group>
	);
}

/**
 * Returns the value of `WhichEvents` for the API, where an empty list means all events.
 * @throws {TenantryError} if the user wants selected events but has selected none
 */
export function typesToSend(types: readonly string[] | undefined) {
	if (types?.length === 0) throw rejection(null, "Select at least one event.");
	return [...(types ?? [])];
}
