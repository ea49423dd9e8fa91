import type { ComponentChildren } from "preact";
import type { ActivityEntry } from "tenantry-client";
import { levelName } from "../../ui/values.tsx";

type Change = ActivityEntry["detail"]["changes"][number];

/** A single value that changed. The path starts with the field, whose name may contain dots. */
type Leaf = { path: readonly string[]; before: unknown; after: unknown };

const isObject = (value: unknown): value is Record<string, unknown> =>
	typeof value === "object" && value !== null && !Array.isArray(value);

const isNothing = (value: unknown) => value === null || value === undefined;

/** Returns the values that differ, with their paths. Objects are compared key by key. */
function leavesOf(path: readonly string[], before: unknown, after: unknown): Leaf[] {
	const isPair = (isObject(before) || isNothing(before)) && (isObject(after) || isNothing(after));
	if (!isPair || (isNothing(before) && isNothing(after))) return [{ path, before, after }];
	const old = isObject(before) ? before : {};
	const now = isObject(after) ? after : {};
	const keys = [...new Set([...Object.keys(old), ...Object.keys(now)])];
	const different = keys.filter((key) => JSON.stringify(old[key]) !== JSON.stringify(now[key]));
	return different.length > 0
		? different.flatMap((key) => leavesOf([...path, key], old[key], now[key]))
		: [{ path, before, after }];
}

/** The number of characters from which a text is shown line by line. */
const LONG = 120;

const isLong = (value: unknown) =>
	typeof value === "string" && (value.length > LONG || value.includes("\n"));

const linesOf = (value: unknown) => (typeof value === "string" && value ? value.split("\n") : []);

/** Returns the lines that differ, without the common start and end of both texts. */
function changedLines(before: readonly string[], after: readonly string[]) {
	const shorter = Math.min(before.length, after.length);
	let start = 0;
	while (start < shorter && before[start] === after[start]) start += 1;
	let end = 0;
	while (end < shorter - start && before.at(-1 - end) === after.at(-1 - end)) end += 1;
	return {
		start,
		removed: before.slice(start, before.length - end),
		added: after.slice(start, after.length - end),
	};
}

const Removed = ({ children }: { children: ComponentChildren }) => (
	<del>
		<span class="unseen">Before: </span>
		{children}
	</del>
);
const Added = ({ children }: { children: ComponentChildren }) => (
	<ins>
		<span class="unseen">After: </span>
		{children}
	</ins>
);

function Lines({ path, before, after }: Leaf) {
	const { start, removed, added } = changedLines(linesOf(before), linesOf(after));
	return (
		<details>
			<summary>
				{wordsOfPath(path)}: {removed.length} lines removed, {added.length} added from line{" "}
				{start + 1}
			</summary>
			{/* biome-ignore lint/a11y/noNoninteractiveTabindex: long lines scroll, with the keyboard too */}
			<pre class="lines" tabIndex={0}>
				{removed.map((line, i) => (
					<del key={`-${i}`}>{`- ${line}\n`}</del>
				))}
				{added.map((line, i) => (
					<ins key={`+${i}`}>{`+ ${line}\n`}</ins>
				))}
			</pre>
		</details>
	);
}

/**
 * Returns the words for the path of a value: `first_name` is "First name". What is below a field,
 * such as a plugin's setting, and a file has the name that its author gave.
 */
function wordsOfPath([field = "", ...rest]: readonly string[]) {
	if (field.includes(".")) return [field, ...rest].join(" › ");
	const words = field.replaceAll("_", " ");
	return [words.charAt(0).toUpperCase() + words.slice(1), ...rest].join(" › ");
}

const isLevel = (path: readonly string[]) => path.at(-1) === "level";

/** Returns a value in words: lists with commas, and objects as in "Key: plan; Value: team". */
function shown(path: readonly string[], value: unknown): string {
	if (isNothing(value)) return "nothing";
	if (typeof value === "number" && isLevel(path)) return levelName(value);
	if (typeof value === "boolean") return value ? "Yes" : "No";
	if (Array.isArray(value)) return value.map((item) => shown(path, item)).join(", ") || "(empty)";
	if (isObject(value))
		return Object.entries(value)
			.map(([name, of]) => `${wordsOfPath([name])}: ${shown([...path, name], of)}`)
			.join("; ");
	return String(value) || "(empty)";
}

function Items({
	path,
	before,
	after,
}: Pick<Leaf, "path"> & { before: unknown[]; after: unknown[] }) {
	const has = (list: unknown[], item: unknown) =>
		list.some((one) => JSON.stringify(one) === JSON.stringify(item));
	return (
		<>
			{before
				.filter((item) => !has(after, item))
				.map((item) => (
					<Removed key={JSON.stringify(item)}>{shown(path, item)}</Removed>
				))}
			{after
				.filter((item) => !has(before, item))
				.map((item) => (
					<Added key={JSON.stringify(item)}>{shown(path, item)}</Added>
				))}
		</>
	);
}

function Values({ path, before, after }: Leaf) {
	// The contents of a plugin's files aren't in the log.
	if (isNothing(before) && isNothing(after)) return null;
	if (Array.isArray(before) && Array.isArray(after))
		return <Items path={path} before={before} after={after} />;
	return (
		<>
			{!isNothing(before) && <Removed>{shown(path, before)}</Removed>}
			{!isNothing(before) && <span aria-hidden="true">→</span>}
			{isNothing(after) ? <ins class="nothing">nothing</ins> : <Added>{shown(path, after)}</Added>}
		</>
	);
}

/** The number of values that are shown. The rest is folded. */
const SHOWN = 4;

const Row = (leaf: Leaf) =>
	isLong(leaf.before) || isLong(leaf.after) ? (
		<Lines {...leaf} />
	) : (
		<div class="change">
			<span class="soft">{wordsOfPath(leaf.path)}</span> <Values {...leaf} />
		</div>
	);

export function Changes({ changes }: { changes: readonly Change[] }) {
	const leaves = changes.flatMap(({ field, before, after }) => leavesOf([field], before, after));
	const rest = leaves.slice(SHOWN);
	const rows = (some: Leaf[]) => some.map((leaf) => <Row key={leaf.path.join("\n")} {...leaf} />);
	return leaves.length === 0 ? null : (
		<div class="changes">
			{rows(leaves.slice(0, SHOWN))}
			{rest.length > 0 && (
				<details>
					<summary>{rest.length} more</summary>
					{rows(rest)}
				</details>
			)}
		</div>
	);
}
