import { MisconfiguredError, reason } from "../../../outbound/errors.ts";
import { runSteps, stillThere, Warning } from "../../../outbound/steps.ts";
import { bytesOf } from "../../query/rows.ts";
import { NO_MARK } from "../buckets/bucket.ts";
import type { Destination, Job, Sink } from "../destination.ts";
import { keysOf } from "../roles/aws.ts";
import type { Workload } from "../roles/workload.ts";
import { sampleOf } from "../sample.ts";
import { type Catalog, type Connection as Connecting, catalogOf } from "./catalog.ts";
import { commitFiles, type Opened } from "./commit.ts";
import { dataFiles, type Upload } from "./data_files.ts";
import type { Settings } from "./definition.ts";
import type { DataFile } from "./manifests.ts";
import { type Storage, storageOf } from "./storage.ts";
import { ensureTable, foldersOf, layoutOf, previewTable } from "./table.ts";
import { folderOf } from "./windows.ts";

/**
 * `files`: the data files up to the run's position. `attempts`: what the names of data files begin
 * with, for each attempt. `uploads`: uploads that have begun. `snapshots`: the snapshots that may have
 * been committed.
 */
export type State = {
	files: DataFile[];
	attempts: string[];
	uploads: Upload[];
	snapshots: number[];
};

const INITIAL: State = { files: [], attempts: [], uploads: [], snapshots: [] };

/** The maximum size of a state, which must fit into a value in D1 (at most 2,000,000 bytes). */
const MAX_STATE_BYTES = 1_500_000;

type Connection = Connecting & { catalog: Catalog };

const folderIn = ({ data }: { data: string }, job: Job) => `${data}/${folderOf(job)}`;

async function openTable(connection: Connection, job: Job): Promise<Opened> {
	const { catalog } = connection;
	const table = await ensureTable(catalog, job);
	const layout = layoutOf(table, job.columns, catalog.name);
	return { table, layout, storage: storageOf(connection, table) };
}

/** Removes what attempts have uploaded, except for these files. */
async function removeFiles(
	{ storage, folder }: { storage: Storage; folder: string },
	attempts: string[],
	kept: ReadonlySet<string>,
) {
	for (const attempt of attempts)
		for await (const keys of storage.bucket.list(storage.keyOf(`${folder}/${attempt}`)))
			for (const key of keys) if (!kept.has(key)) await storage.bucket.remove(key);
}

async function abortUploads({ bucket }: Storage, uploads: Upload[]) {
	for (const { key, id } of uploads) await bucket.abort(key, id);
}

function openRun(
	connection: Connection,
	...[job, initial, saveState]: Parameters<Destination<State>["open"]>
): Sink<State> {
	const attempt = crypto.randomUUID();
	let state = initial ?? INITIAL;
	let count = 0;
	let opened: Opened | undefined;
	let writer: ReturnType<typeof dataFiles> | undefined;

	async function save(change: Partial<State>) {
		state = { ...state, ...change };
		await saveState(state);
	}

	/** Files of an earlier attempt after its position are written again, under other names. */
	async function nextPath() {
		const table = await open();
		if (count === 0) await save({ attempts: [...state.attempts, attempt] });
		count += 1;
		return `${folderIn(table.layout, job)}/${attempt}-${count}.parquet`;
	}

	async function open() {
		opened ??= await openTable(connection, job);
		return opened;
	}

	async function openWriter() {
		const { layout, storage } = await open();
		await abortUploads(storage, state.uploads);
		state = { ...state, uploads: [] };
		return dataFiles({
			layout,
			storage,
			export_id: job.export_id,
			nextPath,
			begun: (upload) => save({ uploads: [...state.uploads, upload] }),
		});
	}

	/** Ends the files so far. Returns all files of the run. */
	const endFiles = async () => [...state.files, ...((await writer?.end()) ?? [])];

	return {
		async write(rows, sizes = rows.map(bytesOf)) {
			writer ??= await openWriter();
			await writer.write(rows, sizes);
			if (!writer.isFull()) return null;
			state = { ...state, files: await endFiles(), uploads: [] };
			if (JSON.stringify(state).length <= MAX_STATE_BYTES) return state;
			throw new MisconfiguredError(
				`The window has more files than one run can write (${state.files.length}): choose a shorter interval or, if its rows are in many partitions, larger partitions for the table.`,
			);
		},

		async close() {
			const files = await endFiles();
			const isNothing = files.length === 0 && state.snapshots.length === 0;
			if (isNothing && (!job.isRepeat || !(await connection.catalog.load()))) return {};
			const { layout, storage } = await open();
			const { catalog } = connection;
			const isNew = await commitFiles(
				{
					catalog,
					job,
					open: () => openTable(connection, job),
					attempted: state.snapshots,
					announce: (snapshot) => save({ snapshots: [...state.snapshots, snapshot] }),
				},
				files,
			);
			const kept = new Set(files.map(({ path }) => storage.keyOf(path)));
			const others = isNew ? state.attempts.filter((one) => one !== attempt) : [attempt];
			const table = { storage, folder: folderIn(layout, job) };
			await removeFiles(table, others, isNew ? kept : new Set()).catch(() => {});
			return {};
		},

		release() {
			writer?.release();
		},
	};
}

/**
 * Returns the destination that writes to a table of an Iceberg catalog, which is created if it
 * doesn't exist. Each row of a window is in the table once.
 *
 * A run writes its rows to data files in the folder of its window. At its end, one commit makes them
 * part of the table (`commit.ts`). An attempt that is killed leaves files that nobody refers to. The
 * next attempt uses those up to the run's position, and removes the others after its commit.
 */
export function openIceberg(
	env: Env,
	config: Settings,
	timeoutMs: number,
	workload: Workload,
): Destination<State> {
	function connect(): Connection {
		const keys = keysOf(env, config, { timeoutMs, workload });
		const connecting = { env, config, timeoutMs, keys };
		return { ...connecting, catalog: catalogOf(connecting) };
	}
	return {
		open: async (...options) => openRun(connect(), ...options),

		/** A commit may still happen after its response was lost, so its files stay. */
		async abort(job, { uploads, attempts, snapshots }) {
			const connection = connect();
			const table = await connection.catalog.load();
			if (!table) return;
			const storage = storageOf(connection, table);
			await abortUploads(storage, uploads);
			if (snapshots.length > 0) return;
			const folder = folderIn(foldersOf(table), job);
			await removeFiles({ storage, folder }, attempts, new Set());
		},

		/** Writes an object beside the data files. A missing table is only prepared. */
		test({ job } = sampleOf("events")) {
			const connection = connect();
			const { catalog } = connection;
			let written: { storage: Storage; key: string } | undefined;
			return runSteps({
				reach: catalog.reach,
				"sign in": catalog.signIn,
				async write() {
					const table = await previewTable(catalog, job);
					if (!table)
						return new Warning(
							`The catalog can't prepare a table, so that only the first run shows whether ${catalog.name} can be written.`,
						);
					const { data } = layoutOf(table, job.columns, catalog.name);
					const storage = storageOf(connection, table);
					const location = `${data}/.tenantry-test-${crypto.randomUUID()}`;
					const key = storage.keyOf(location);
					await storage.bucket.put(key, Buffer.from("test"), "text/plain", NO_MARK);
					written = { storage, key };
					await storage.read(location);
					return undefined;
				},
				async remove() {
					if (!written) return;
					const { storage, key } = written;
					await storage.bucket.remove(key).catch((error: unknown) => {
						throw new Error(`${reason(error)} ${stillThere(key)}`);
					});
				},
			});
		},
	};
}
