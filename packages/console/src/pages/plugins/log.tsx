import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { PluginLogEntry } from "tenantry-client";
import { useQuery } from "../../load.ts";
import { SmallButton } from "../../ui/button.tsx";
import { Empty, Loading, Problem, wordsOf } from "../../ui/feedback.tsx";
import { Filter, Filters, Search } from "../../ui/filters.tsx";
import { ZONE } from "../../ui/zone.ts";
import type { LogFilters, useLog } from "./follow.ts";

const TYPES = {
	errors: ["ERROR"],
	warnings: ["WARN", "ERROR"],
	info: ["LOG", "INFO", "WARN", "ERROR"],
} satisfies Record<string, PluginLogEntry["type"][]>;

const isType = (value: string | undefined): value is keyof typeof TYPES =>
	value !== undefined && Object.hasOwn(TYPES, value);

const HOUR_MS = 3_600_000;
const PERIODS: Record<string, number> = { hour: HOUR_MS, day: 24 * HOUR_MS };

export function useLogFilters(): LogFilters {
	const [{ search, type, period }] = useQuery();
	return {
		search,
		type_filter: isType(type) ? TYPES[type] : undefined,
		period: PERIODS[period ?? ""],
	};
}

const TIME = new Intl.DateTimeFormat(undefined, { timeStyle: "medium", ...ZONE });
const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", ...ZONE });

const SOURCES = { SYSTEM: "system", PLUGIN: "logger", CONSOLE: "console" };

function Line({ entry, dayBefore }: { entry: PluginLogEntry; dayBefore: string | undefined }) {
	const date = new Date(entry.timestamp);
	const day = DAY.format(date);
	return (
		<>
			{day !== dayBefore && <li class="log-day">{day}</li>}
			<li class="log-line" data-type={entry.type}>
				<time
					dateTime={entry.timestamp}
					title={`${entry.timestamp.replace("T", " ").replace("Z", "")} UTC`}
				>
					{TIME.format(date)}
				</time>
				<span class="log-type">{entry.type}</span>
				<span class="log-source">{SOURCES[entry.source]}</span>
				<span class="log-message">{entry.message}</span>
			</li>
		</>
	);
}

const dayOf = (entry: PluginLogEntry | undefined) => entry && DAY.format(new Date(entry.timestamp));

/** A log counts as scrolled to its end within this distance in pixels. */
const NEAR = 24;

const Head = ({ log }: { log: ReturnType<typeof useLog> }) => (
	<div class="log-head">
		<Filters>
			<Search label="Search the log" />
			<Filter
				name="type"
				label="Type"
				options={[
					["", "All types"],
					["errors", "Errors"],
					["warnings", "Warnings and errors"],
					["info", "All except debug"],
				]}
			/>
			<Filter
				name="period"
				label="Period"
				options={[
					["", "Last 7 days"],
					["day", "Last 24 hours"],
					["hour", "Last hour"],
				]}
			/>
		</Filters>
		<label class="live">
			<input
				type="checkbox"
				role="switch"
				checked={log.isFollowing}
				aria-checked={log.isFollowing}
				onChange={({ currentTarget }) => log.setFollowing(currentTarget.checked)}
			/>
			Live
		</label>
	</div>
);

/** A log, newest entry last. It scrolls to new entries if it was scrolled to the end. */
export function Log({ log }: { log: ReturnType<typeof useLog> }) {
	const { entries, error, hasOlder, isFiltered } = log;
	return (
		<>
			<Head log={log} />
			{entries === undefined ? (
				error === undefined ? (
					<Loading />
				) : (
					<Problem error={error} />
				)
			) : entries.length === 0 ? (
				<Empty title={isFiltered ? "No entries found" : "No entries yet"}>
					{isFiltered
						? "Change or remove the filters."
						: "Enable the plugin or start a job. Log entries appear here automatically, and are kept for seven days."}
				</Empty>
			) : (
				<Lines entries={entries} hasOlder={hasOlder} onOlder={log.readOlder} />
			)}
			{entries !== undefined && error !== undefined && (
				<p class="field-error" role="status">
					Can't load new entries: {wordsOf(error)} Retrying…
				</p>
			)}
		</>
	);
}

function Lines({
	entries,
	hasOlder,
	onOlder,
}: {
	entries: PluginLogEntry[];
	hasOlder: boolean;
	onOlder: () => Promise<void>;
}) {
	const box = useRef<HTMLDivElement>(null);
	const isAtEnd = useRef(true);
	const newest = entries.at(-1)?.id;
	const [seen, setSeen] = useState(newest);
	const toEnd = () => box.current?.scrollTo({ top: box.current.scrollHeight });
	useLayoutEffect(() => {
		if (isAtEnd.current) toEnd();
	}, [newest]);
	useEffect(() => {
		if (isAtEnd.current) setSeen(newest);
	}, [newest]);
	const missed = entries.length - 1 - entries.findIndex(({ id }) => id === seen);
	return (
		<div class="log">
			<div
				ref={box}
				class="log-lines"
				role="log"
				aria-label="Log"
				// biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, with the keyboard too
				tabIndex={0}
				onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
					isAtEnd.current = scrollHeight - scrollTop - clientHeight < NEAR;
					if (isAtEnd.current) setSeen(newest);
				}}
			>
				{hasOlder && <SmallButton onPress={onOlder}>Show older entries</SmallButton>}
				<ol>
					{entries.map((entry, i) => (
						<Line key={entry.id} entry={entry} dayBefore={dayOf(entries[i - 1])} />
					))}
				</ol>
			</div>
			{missed > 0 && (
				<button type="button" class="small log-new" onClick={toEnd}>
					{missed === 1 ? "1 new entry" : `${missed} new entries`} ↓
				</button>
			)}
		</div>
	);
}
