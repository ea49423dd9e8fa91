import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { useQuery } from "../load.ts";

/** The filters of a list, above it. Their values are in the URL. */
export const Filters = ({ children }: { children: ComponentChildren }) => (
	<search class="filters">{children}</search>
);

/** How long a search waits for the next letter, in milliseconds. */
const PAUSE_MS = 250;

/** A text that a list is searched for; `name` is the parameter in the URL. */
export function Search({ name = "search", label }: { name?: string; label: string }) {
	const [query, change] = useQuery();
	const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
	useEffect(() => () => clearTimeout(timer.current), []);
	return (
		<input
			type="search"
			aria-label={label}
			placeholder={label}
			defaultValue={query[name] ?? ""}
			onInput={({ currentTarget }) => {
				const { value } = currentTarget;
				clearTimeout(timer.current);
				timer.current = setTimeout(() => change({ [name]: value, offset: undefined }), PAUSE_MS);
			}}
		/>
	);
}

/** One of a few values that a list is filtered by; the first one, "", is no filter. */
export function Filter({
	name,
	label,
	options,
}: {
	name: string;
	label: string;
	/** Value and words; the value "" stands for no filter. */
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
