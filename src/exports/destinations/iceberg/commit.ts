/**
 * Commits the files of a window, exactly once.
 *
 * - A snapshot's id is in the run's state before it is committed. Whether the commit has happened is
 *   seen in the table: its manifests name the snapshot that added them, as does the history.
 * - A commit requires that the table's current snapshot is the one it was made from. If somebody
 *   else has committed in the meantime, it is made again from theirs.
 * - A window that is exported again replaces its files, which are recognized by their folder, in the
 *   same commit. So no reader sees rows twice, or misses them.
 * - If others have written the rows of the window to files of their own, as a compaction does, these
 *   can't be replaced. A property of the table still says that the window is in it.
 */
import { MisconfiguredError } from "../../../outbound/errors.ts";
import { NO_MARK } from "../buckets/bucket.ts";
import type { Job } from "../destination.ts";
import type { Catalog, LoadedTable } from "./catalog.ts";
import {
	type DataFile,
	type Entries,
	hasFiles,
	isOfData,
	liveFiles,
	type Manifest,
	pathOf,
	readList,
	readManifest,
	type Snapshot,
	withoutFiles,
	writeList,
	writeManifest,
} from "./manifests.ts";
import { type Storage, twice } from "./storage.ts";
import type { Layout } from "./table.ts";
import { folderOf, isInTable, propertyOf, withWindow } from "./windows.ts";

/** How often a commit is made again because of others. */
const MAX_CONFLICTS = 20;

/** How long to wait after a conflict, at most, in milliseconds. */
const CONFLICT_WAIT_MS = 500;

const TYPE = "application/avro";

/** The part of the paths of files and manifests that only exports write. */
const OURS = "/tenantry/";

/** A table as it was opened. */
export type Opened = { table: LoadedTable; layout: Layout; storage: Storage };

export type Run = {
	catalog: Catalog;
	job: Job;
	/** Returns the table as it is now. */
	open: () => Promise<Opened>;
	/** The snapshots that earlier attempts may have committed. */
	attempted: number[];
	/** Stores the id of a snapshot before it is committed. */
	announce: (snapshot: number) => Promise<void>;
};

/** Ids are of 53 bits, so that JSON has all their digits. */
const newSnapshotId = () =>
	Number((crypto.getRandomValues(new BigUint64Array(1))[0] ?? 0n) & (2n ** 53n - 1n));

function currentOf({ metadata }: LoadedTable) {
	const id = metadata["current-snapshot-id"] ?? -1;
	return metadata.snapshots.find((one) => one["snapshot-id"] === id);
}

async function manifestsOf({ table, storage }: Opened): Promise<Manifest[]> {
	const current = currentOf(table);
	if (!current) return [];
	const list = current["manifest-list"];
	if (list !== undefined) return readList(await storage.read(list));
	throw new MisconfiguredError("The table's current snapshot has no manifest list.");
}

/** Whether one of the snapshots that earlier attempts may have committed is part of the table. */
async function isCommitted({ catalog, attempted }: Run, manifests: Manifest[]) {
	if (attempted.length === 0) return false;
	const isOne = (id: unknown) => attempted.some((one) => one === id);
	if (manifests.some(({ added_snapshot_id }) => isOne(added_snapshot_id))) return true;
	const { metadata } = (await catalog.load(true)) ?? {};
	return metadata?.snapshots.some((one) => isOne(one["snapshot-id"])) ?? false;
}

/** What an earlier run of the window has left in the table. */
type Earlier = { manifests: Entries[]; removed: { path: string; rows: number; bytes: number }[] };

/**
 * Finds the files of the window that are in the table.
 * @throws MisconfiguredError if its rows are there, but not in files of their own
 */
async function findEarlier(
	{ job, catalog }: Run,
	{ table, storage }: Opened,
	manifests: Manifest[],
): Promise<Earlier> {
	const folder = `/${folderOf(job)}/`;
	const found: Earlier = { manifests: [], removed: [] };
	let hasOthers = false;
	for (const manifest of manifests) {
		const path = pathOf(manifest);
		// A manifest in the folder of a window has only the files of that window.
		const mayHaveFiles = path.includes(folder) || !path.includes(OURS);
		if (!mayHaveFiles || !isOfData(manifest) || !hasFiles(manifest)) continue;
		const bytes = await storage.read(path);
		if (bytes.length !== Number(manifest.manifest_length))
			throw new Error(`The manifest ${path} wasn't read completely.`);
		const entries = readManifest(manifest, bytes);
		const files = liveFiles(entries);
		const own = files.filter((file) => file.path.includes(folder));
		hasOthers ||= files.some((file) => !file.path.includes(OURS));
		if (own.length > 0) found.manifests.push(entries);
		found.removed.push(...own);
	}
	const property = propertyOf(job);
	if (found.removed.length > 0 || !hasOthers) return found;
	if (!isInTable(table.metadata.properties[property], job)) return found;
	throw new MisconfiguredError(
		`The window is already in the table ${catalog.name}, but in files that others have written since, such as a compaction, so it can't be replaced. Delete its rows and the table property ${property}, then retry the run.`,
	);
}

/** The totals in the summary of a snapshot, which follow from those of the one before. */
function summaryOf(
	job: Job,
	before: Record<string, string>,
	files: { rows: number; bytes: number }[],
	removed: { rows: number; bytes: number }[],
) {
	const sum = (list: typeof files, of: (file: { rows: number; bytes: number }) => number) =>
		list.reduce((all, file) => all + of(file), 0);
	const one = () => 1;
	const figures = [
		{ name: "data-files", deleted: "deleted-data-files", of: one },
		{ name: "records", deleted: "deleted-records", of: ({ rows = 0 }) => rows },
		{ name: "files-size", deleted: "removed-files-size", of: ({ bytes = 0 }) => bytes },
	];
	const counts = figures.flatMap(({ name, deleted, of }) => {
		const added = sum(files, of);
		const gone = sum(removed, of);
		const total = Number(before[`total-${name}`] ?? 0) + added - gone;
		return [
			...(added > 0 ? [[`added-${name}`, added]] : []),
			...(gone > 0 ? [[deleted, gone]] : []),
			[`total-${name}`, total],
		];
	});
	const kept = ["total-delete-files", "total-position-deletes", "total-equality-deletes"];
	const operation = removed.length === 0 ? "append" : files.length === 0 ? "delete" : "overwrite";
	return {
		operation,
		"tenantry.export": job.export_id,
		"tenantry.window": `${job.start}/${job.end}`,
		"tenantry.run": job.run_id,
		...Object.fromEntries(counts.map(([name, count]) => [name, String(count)])),
		...Object.fromEntries(kept.map((name) => [name, before[name] ?? "0"])),
	};
}

/** Writes the manifests of a snapshot and their list. Returns the list's path, and all paths. */
async function writeMetadata(
	{ job }: Run,
	{ layout, storage }: Opened,
	snapshot: Snapshot,
	change: { manifests: Manifest[]; earlier: Earlier; files: DataFile[]; attempt: number },
) {
	const { manifests, earlier, files, attempt } = change;
	const written: string[] = [];
	async function put(path: string, bytes: Uint8Array) {
		written.push(path);
		const mark = { ...NO_MARK, export_id: job.export_id };
		const key = storage.keyOf(path);
		await twice(() => storage.bucket.put(key, bytes, TYPE, mark));
	}
	const name = `${snapshot.id}-${attempt}`;
	const own = `${layout.metadata}/${folderOf(job)}/${name}`;
	const removed = new Set(earlier.removed.map(({ path }) => path));
	const replaced = new Map<string, Manifest>();
	for (const [i, entries] of earlier.manifests.entries()) {
		const before = pathOf(entries.manifest);
		const isOwn = before.includes(`/${folderOf(job)}/`);
		const path = isOwn ? `${own}-d${i}.avro` : `${layout.metadata}/tenantry-${name}-d${i}.avro`;
		const { bytes, manifest } = withoutFiles(entries, snapshot, path, removed);
		await put(path, bytes);
		replaced.set(before, manifest);
	}
	const list = manifests
		.filter((one) => hasFiles(one) || !isOfData(one))
		.map((one) => replaced.get(pathOf(one)) ?? one);
	if (files.length > 0) {
		const path = `${own}-m.avro`;
		const { spec, schema } = layout;
		const { bytes, manifest } = writeManifest({ snapshot, spec, schema }, path, files);
		await put(path, bytes);
		list.unshift(manifest);
	}
	const path = `${layout.metadata}/snap-${name}.avro`;
	await put(path, writeList(snapshot, list));
	return { path, written };
}

/** Tries to commit once. Returns false if somebody else has changed the table. */
async function tryCommit(
	run: Run,
	opened: Opened,
	snapshot: Snapshot,
	change: Parameters<typeof writeMetadata>[3],
) {
	const { catalog, job } = run;
	const { table, layout, storage } = opened;
	const { metadata } = table;
	const { path, written } = await writeMetadata(run, opened, snapshot, change);
	const property = propertyOf(job);
	const before = currentOf(table)?.summary ?? {};
	const requirements = [
		{ type: "assert-table-uuid", uuid: metadata["table-uuid"] },
		{ type: "assert-ref-snapshot-id", ref: "main", "snapshot-id": snapshot.parent },
	];
	const updates = [
		{
			action: "add-snapshot",
			snapshot: {
				"snapshot-id": snapshot.id,
				...(snapshot.parent !== null && { "parent-snapshot-id": snapshot.parent }),
				"sequence-number": snapshot.sequence,
				"timestamp-ms": Math.max(Date.now(), metadata["last-updated-ms"]),
				"manifest-list": path,
				summary: summaryOf(job, before, change.files, change.earlier.removed),
				"schema-id": layout.schema.id,
			},
		},
		{
			action: "set-snapshot-ref",
			"ref-name": "main",
			type: "branch",
			"snapshot-id": snapshot.id,
		},
		{
			action: "set-properties",
			updates: { [property]: withWindow(metadata.properties[property], job) },
		},
	];
	/** Nothing refers to what was written. */
	const clean = () =>
		Promise.all(written.map((one) => storage.bucket.remove(storage.keyOf(one)).catch(() => {})));
	try {
		const isDone = await catalog.commit(requirements, updates);
		if (!isDone) await clean();
		return isDone;
	} catch (error) {
		if (error instanceof MisconfiguredError) await clean();
		throw error;
	}
}

/** A manifest has the partition spec of its files. */
function assertSpec({ spec }: Layout, files: DataFile[]) {
	if (files.some(({ spec_id }) => spec_id !== spec.id))
		throw new MisconfiguredError(
			"The partitions of the table have changed since the run began: retry the run.",
		);
}

/**
 * Makes the files of a window part of the table, and removes those of earlier runs.
 * @returns whether the files were committed; false if an earlier attempt has committed others
 */
export async function commitFiles(run: Run, files: DataFile[]): Promise<boolean> {
	const { job, catalog } = run;
	const id = newSnapshotId();
	const isRepeat = job.isRepeat || run.attempted.length > 0;
	let isAnnounced = false;
	for (let attempt = 0; attempt < MAX_CONFLICTS; attempt += 1) {
		const opened = await run.open();
		const manifests = await manifestsOf(opened);
		if (await isCommitted(run, manifests)) return false;
		assertSpec(opened.layout, files);
		const earlier = isRepeat
			? await findEarlier(run, opened, manifests)
			: { manifests: [], removed: [] };
		if (files.length === 0 && earlier.removed.length === 0) return true;
		if (!isAnnounced) await run.announce(id);
		isAnnounced = true;
		const snapshot = {
			id,
			parent: currentOf(opened.table)?.["snapshot-id"] ?? null,
			sequence: opened.table.metadata["last-sequence-number"] + 1,
		};
		const change = { manifests, earlier, files, attempt };
		if (await tryCommit(run, opened, snapshot, change)) return true;
		await scheduler.wait(Math.random() * CONFLICT_WAIT_MS);
	}
	throw new Error(
		`Others have changed the table ${catalog.name} ${MAX_CONFLICTS} times while the window was committed.`,
	);
}
