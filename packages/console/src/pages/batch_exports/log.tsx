import { useEffect, useRef, useState } from "preact/hooks";
import type { BatchExportLogEntry } from "tenantry-client";
import { useQuery } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { usePolling } from "../../polling.ts";
import { api } from "../../session.ts";
import { SecondaryButton } from "../../ui/button.tsx";
import { Empty, Loading, Problem } from "../../ui/feedback.tsx";
import { Filter, Filters, Search } from "../../ui/filters.tsx";
import { Badge, type Mood } from "../../ui/values.tsx";
import { TIME_WITH_SECONDS } from "../../ui/zone.ts";
import { BUSY_MS } from "./intervals.ts";
import type { Opened } from "./states.tsx";

type Entry = BatchExportLogEntry;
type Level = Entry["level"];

/** The page size. */
const ENTRIES = 100;

/**
 * Requests for new entries overlap by this much, because entries may be stored slightly out of
 * order.
 */
const OVERLAP_MS = 5000;

const MOODS: Record<Level, Mood> = { DEBUG: "quiet", INFO: "quiet", WARNING: "warn", ERROR: "bad" };

/** The filter options. Each level includes the more serious ones. */
const LEVELS: readonly (readonly [value: string, words: string, levels: Level[] | undefined])[] = [
	["", "All levels", undefined],
	["info", "Info and above", ["INFO", "WARNING", "ERROR"]],
	["warning", "Warnings and errors", ["WARNING", "ERROR"]],
	["error", "Errors", ["ERROR"]],
];

type LogFilters = {
	limit: number;
	level?: Level[] | undefined;
	search?: string | undefined;
	after?: string;
	before?: string;
};

type Read = (
	filters: LogFilters,
	signal?: AbortSignal,
) => PromiseLike<{ results: Entry[]; next: string | null }>;

type Entries = {
	list: Entry[];
	hasMore: boolean;
	/** Whether the request had filters. */
	isFiltered: boolean;
};

/** Merges entries without duplicates, newest first. */
function merge(...lists: Entry[][]) {
	const byId = new Map(lists.flat().map((entry) => [entry.id, entry]));
	const key = ({ timestamp, id }: Entry) => timestamp + id;
	return [...byId.values()].sort((a, b) => (key(a) < key(b) ? 1 : -1));
}

/** Loads the newest entries of a log, then new entries, and older ones on request. */
function useLog(read: Read, filters: Omit<LogFilters, "limit">, inputs: readonly unknown[]) {
	const [entries, setEntries] = useState<Entries>();
	const [error, setError] = useState<unknown>();
	const [turn, setTurn] = useState(0);
	/** Responses to requests with other filters are discarded. */
	const generation = useRef(0);
	const isFiltered = Boolean(filters.level || filters.search);
	useEffect(() => {
		generation.current += 1;
		const controller = new AbortController();
		setError(undefined);
		read({ ...filters, limit: ENTRIES }, controller.signal).then(
			({ results, next }) => setEntries({ list: results, hasMore: next !== null, isFiltered }),
			(cause: unknown) => !controller.signal.aborted && setError(cause),
		);
		return () => controller.abort();
	}, [...inputs, turn]);

	async function add(range: Pick<LogFilters, "after" | "before">) {
		const asked = generation.current;
		const { results, next } = await read({ ...filters, ...range, limit: ENTRIES });
		if (asked !== generation.current) return;
		// More than one page of new entries: load the log again, because some entries would be missing.
		if (range.after && next !== null) return setTurn((turn) => turn + 1);
		setEntries((now) => ({
			list: merge(results, now?.list ?? []),
			hasMore: range.before ? next !== null : (now?.hasMore ?? false),
			isFiltered,
		}));
	}
	return {
		entries,
		error,
		reload: () => setTurn((turn) => turn + 1),
		/** Loads new entries. After an error, the next call loads them. */
		readNew: async () => {
			const [newest] = entries?.list ?? [];
			const since = newest ? Date.parse(newest.timestamp) - OVERLAP_MS : 0;
			await add({ after: new Date(since).toISOString() }).catch(() => {});
		},
		readOlder: async () => {
			const oldest = entries?.list.at(-1);
			if (oldest) await add({ before: oldest.timestamp });
		},
	};
}

const Line = ({ entry, path }: { entry: Entry; path: string | undefined }) => (
	<li class={`export-log-line ${MOODS[entry.level]}`}>
		<time
			dateTime={entry.timestamp}
			title={`${entry.timestamp.slice(0, 23).replace("T", " ")} UTC`}
		>
			{TIME_WITH_SECONDS.format(new Date(entry.timestamp))}
		</time>
		<Badge mood={MOODS[entry.level]}>{entry.level.toLowerCase()}</Badge>
		<span class="export-log-message">
			{entry.message} {path && entry.run_id && <a href={`${path}/runs/${entry.run_id}`}>Run</a>}
		</span>
	</li>
);

function Entries({
	log: { entries, error, reload, readOlder },
	path,
}: {
	log: ReturnType<typeof useLog>;
	path: string | undefined;
}) {
	return (
		<>
			{error !== undefined && <Problem error={error} retry={reload} />}
			{!entries && error === undefined && <Loading />}
			{entries?.list.length === 0 && (
				<Empty title={entries.isFiltered ? "No entries found" : "No entries yet"}>
					{entries.isFiltered
						? "Change or remove the filters."
						: "Entries of runs appear here automatically."}
				</Empty>
			)}
			{entries && entries.list.length > 0 && (
				<ol class="export-log" aria-label="Log, newest first">
					{entries.list.map((entry) => (
						<Line key={entry.id} entry={entry} path={path} />
					))}
				</ol>
			)}
			{entries?.hasMore && (
				<SecondaryButton onPress={readOlder}>Show older entries</SecondaryButton>
			)}
		</>
	);
}

/**
 * A log that shows new entries as they appear, newest first.
 * @param id the id of the object that the log belongs to
 * @param isLive whether a run is in progress. When it ends, the log is updated immediately
 * @param path the path of the export, for links to runs
 */
export function Log({
	id,
	read,
	isLive,
	path,
}: {
	id: string;
	read: Read;
	isLive: boolean;
	path?: string;
}) {
	const [{ level, search }] = useQuery();
	const [isFollowing, setFollowing] = useState(true);
	const levels = LEVELS.find(([value]) => value === (level ?? ""))?.[2];
	const log = useLog(read, { level: levels, search }, [id, level, search]);
	usePolling(log.readNew, BUSY_MS, isFollowing && log.entries !== undefined);
	const wasLive = useRef(isLive);
	useEffect(() => {
		// Load the last entries of the run immediately.
		if (wasLive.current && !isLive) log.readNew();
		wasLive.current = isLive;
	}, [isLive]);
	return (
		<>
			<Filters>
				<Search label="Search the log" />
				<Filter
					name="level"
					label="Level"
					options={LEVELS.map(([value, words]) => [value, words] as const)}
				/>
				<label class="export-follow">
					<input
						type="checkbox"
						role="switch"
						checked={isFollowing}
						aria-checked={isFollowing}
						onChange={({ currentTarget }) => setFollowing(currentTarget.checked)}
					/>
					Follow
				</label>
			</Filters>
			<Entries log={log} path={path} />
		</>
	);
}

export default function ExportLog({ of, path }: Opened) {
	const { at } = useOrganization();
	return (
		<Log
			id={of.id}
			isLive={false}
			path={path}
			read={(filters, signal) =>
				api.batchExports.listLogs({ ...at, id: of.id, ...filters }, { signal })
			}
		/>
	);
}
