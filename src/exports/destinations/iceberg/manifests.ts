/** Manifests and manifest lists (https://iceberg.apache.org/spec/#manifests), version 2. */
// Imported because the global `Buffer` is slow to access in workerd.
import { Buffer } from "node:buffer";
import { MisconfiguredError } from "../../../outbound/errors.ts";
import {
	type AvroFile,
	type AvroRecord,
	type Datum,
	type Field,
	readAvro,
	type Schema,
	writeAvro,
} from "./avro.ts";

/** A column's values in a file: how many, how many of them are null, and the bounds. */
export type Metrics = {
	id: number;
	values: number;
	nulls: number;
	/** In Iceberg's format of single values, in base64. */
	lower?: string | undefined;
	upper?: string | undefined;
};

/** A data file that isn't in the table yet. It is part of a run's state. */
export type DataFile = {
	path: string;
	/** The id of the partition spec. */
	spec_id: number;
	/** The values of the partition; integers of 64 bits are texts. */
	partition: (string | number | boolean | null)[];
	rows: number;
	bytes: number;
	metrics: Metrics[];
};

/** A field of the partition: its id, and the Avro type of its values. */
export type PartitionField = { id: number; type: Schema };

const field = (id: number, name: string, type: Schema): Field => ({ name, type, "field-id": id });

const optional = (id: number, name: string, type: Schema) => ({
	...field(id, name, ["null", type]),
	default: null,
});

const mapOf = (
	id: number,
	name: string,
	{ key, value }: { key: number; value: number },
	of: Schema,
) =>
	optional(id, name, {
		type: "array",
		items: {
			type: "record",
			name: `k${key}_v${value}`,
			fields: [field(key, "key", "int"), field(value, "value", of)],
		},
		logicalType: "map",
	});

/** Readers find fields by their ids. Their names can have characters that Avro doesn't allow. */
const partitionName = (i: number) => `p${i}`;

/** `partitions`: the fields of the partition. */
const entrySchema = (partitions: PartitionField[]): Schema => ({
	type: "record",
	name: "manifest_entry",
	fields: [
		field(0, "status", "int"),
		optional(1, "snapshot_id", "long"),
		optional(3, "sequence_number", "long"),
		optional(4, "file_sequence_number", "long"),
		field(2, "data_file", {
			type: "record",
			name: "r2",
			fields: [
				field(134, "content", "int"),
				field(100, "file_path", "string"),
				field(101, "file_format", "string"),
				field(102, "partition", {
					type: "record",
					name: "r102",
					fields: partitions.map(({ id, type }, i) => optional(id, partitionName(i), type)),
				}),
				field(103, "record_count", "long"),
				field(104, "file_size_in_bytes", "long"),
				mapOf(109, "value_counts", { key: 119, value: 120 }, "long"),
				mapOf(110, "null_value_counts", { key: 121, value: 122 }, "long"),
				mapOf(125, "lower_bounds", { key: 126, value: 127 }, "bytes"),
				mapOf(128, "upper_bounds", { key: 129, value: 130 }, "bytes"),
			],
		}),
	],
});

const LIST_FIELDS: Field[] = [
	field(500, "manifest_path", "string"),
	field(501, "manifest_length", "long"),
	field(502, "partition_spec_id", "int"),
	field(517, "content", "int"),
	field(515, "sequence_number", "long"),
	field(516, "min_sequence_number", "long"),
	field(503, "added_snapshot_id", "long"),
	field(504, "added_files_count", "int"),
	field(505, "existing_files_count", "int"),
	field(506, "deleted_files_count", "int"),
	field(512, "added_rows_count", "long"),
	field(513, "existing_rows_count", "long"),
	field(514, "deleted_rows_count", "long"),
	optional(507, "partitions", {
		type: "array",
		"element-id": 508,
		items: {
			type: "record",
			name: "r508",
			fields: [
				field(509, "contains_null", "boolean"),
				optional(518, "contains_nan", "boolean"),
				optional(510, "lower_bound", "bytes"),
				optional(511, "upper_bound", "bytes"),
			],
		},
	}),
	optional(519, "key_metadata", "bytes"),
];

const LIST: Schema = { type: "record", name: "manifest_file", fields: LIST_FIELDS };

/** A manifest, as an entry of the list of a snapshot. */
export type Manifest = AvroRecord;

const ADDED = 1;
const DELETED = 2;

export const pathOf = ({ manifest_path }: Manifest) => String(manifest_path);

/** Whether a manifest still has files that are part of the table. */
export const hasFiles = ({ added_files_count, existing_files_count }: Manifest) =>
	Number(added_files_count ?? 1) + Number(existing_files_count ?? 1) > 0;

/** Whether it lists data files, not delete files. */
export const isOfData = ({ content }: Manifest) => Number(content ?? 0) === 0;

/** Reads the list of a snapshot. Its fields can have other names, but have the same ids. */
export function readList(bytes: Uint8Array): Manifest[] {
	const { schema, records } = readAvro(bytes);
	const fields = typeof schema === "object" && "fields" in schema ? schema.fields : [];
	const names = new Map(fields.map((one) => [one["field-id"], one.name]));
	return records.map((record) =>
		Object.fromEntries(
			LIST_FIELDS.map((one): [string, Datum] => {
				const value = record[names.get(one["field-id"]) ?? one.name] ?? null;
				// Version 1 lacks the sequence numbers, and may lack the counts.
				return [one.name, value ?? (typeof one.type === "string" ? 0 : null)];
			}),
		),
	);
}

export type Snapshot = { id: number; parent: number | bigint | null; sequence: number };

export const writeList = ({ id, parent, sequence }: Snapshot, manifests: Manifest[]) =>
	writeAvro({
		metadata: {
			"format-version": "2",
			"snapshot-id": String(id),
			"parent-snapshot-id": String(parent),
			"sequence-number": String(sequence),
		},
		schema: LIST,
		records: manifests,
	});

const byColumn = (metrics: Metrics[], value: (one: Metrics) => Datum | undefined): Datum =>
	metrics.flatMap((one) => {
		const of = value(one);
		return of === undefined ? [] : [{ key: one.id, value: of }];
	});

const bytesOf = (base64: string | undefined) =>
	base64 === undefined ? undefined : Buffer.from(base64, "base64");

/** The single value of a partition, as bounds have it. */
function single(value: DataFile["partition"][number], type: Schema) {
	if (typeof value === "boolean") return Uint8Array.of(value ? 1 : 0);
	if (type === "string") return Buffer.from(String(value));
	const bytes = Buffer.alloc(8);
	bytes.writeBigInt64LE(BigInt(value ?? 0));
	return type === "long" ? bytes : bytes.subarray(0, 4);
}

/** The bounds of a partition's field in a manifest, with which readers skip the manifest. */
function summaryOf(files: DataFile[], { type }: PartitionField, i: number): AvroRecord {
	const values = files.map(({ partition }) => partition[i] ?? null);
	const present = values.filter((value) => value !== null);
	const isLess = (a: (typeof present)[number], b: (typeof present)[number]) =>
		type === "string"
			? Buffer.compare(Buffer.from(String(a)), Buffer.from(String(b))) < 0
			: BigInt(a) < BigInt(b);
	const [first] = present;
	const bound = (isBetter: typeof isLess) =>
		first === undefined
			? null
			: single(
					present.reduce((best, one) => (isBetter(one, best) ? one : best), first),
					type,
				);
	return {
		contains_null: present.length < values.length,
		contains_nan: false,
		lower_bound: bound(isLess),
		upper_bound: bound((a, b) => isLess(b, a)),
	};
}

const partitionOf = ({ partition }: DataFile, fields: PartitionField[]): AvroRecord =>
	Object.fromEntries(
		fields.map(({ type }, i) => {
			const value = partition[i] ?? null;
			return [partitionName(i), type === "long" && value !== null ? BigInt(value) : value];
		}),
	);

/** What the manifests of a commit have in common. */
export type Context = {
	snapshot: Snapshot;
	spec: { id: number; fields: PartitionField[]; json: string };
	schema: { id: number; json: string };
};

const totals = { added: [0, 0], existing: [0, 0], deleted: [0, 0] };

/** Returns the entry of a manifest in a list. */
const listed = (
	{ id, sequence }: Snapshot,
	path: string,
	bytes: Uint8Array,
	{ added, existing, deleted }: typeof totals,
): Manifest => ({
	manifest_path: path,
	manifest_length: bytes.length,
	content: 0,
	sequence_number: sequence,
	added_snapshot_id: id,
	added_files_count: added[0] ?? 0,
	existing_files_count: existing[0] ?? 0,
	deleted_files_count: deleted[0] ?? 0,
	added_rows_count: added[1] ?? 0,
	existing_rows_count: existing[1] ?? 0,
	deleted_rows_count: deleted[1] ?? 0,
	key_metadata: null,
});

/** Writes the manifest of a commit's new files. Returns its bytes and its entry in the list. */
export function writeManifest(
	{ snapshot, spec, schema }: Context,
	path: string,
	files: DataFile[],
) {
	const bytes = writeAvro({
		metadata: {
			schema: schema.json,
			"schema-id": String(schema.id),
			"partition-spec": spec.json,
			"partition-spec-id": String(spec.id),
			"format-version": "2",
			content: "data",
		},
		schema: entrySchema(spec.fields),
		records: files.map((file) => ({
			status: ADDED,
			snapshot_id: snapshot.id,
			// Inherited from the list.
			sequence_number: null,
			file_sequence_number: null,
			data_file: {
				content: 0,
				file_path: file.path,
				file_format: "PARQUET",
				partition: partitionOf(file, spec.fields),
				record_count: file.rows,
				file_size_in_bytes: file.bytes,
				value_counts: byColumn(file.metrics, ({ values }) => values),
				null_value_counts: byColumn(file.metrics, ({ nulls }) => nulls),
				lower_bounds: byColumn(file.metrics, ({ lower }) => bytesOf(lower)),
				upper_bounds: byColumn(file.metrics, ({ upper }) => bytesOf(upper)),
			},
		})),
	});
	const rows = files.reduce((sum, file) => sum + file.rows, 0);
	const manifest: Manifest = {
		...listed(snapshot, path, bytes, { ...totals, added: [files.length, rows] }),
		partition_spec_id: spec.id,
		min_sequence_number: snapshot.sequence,
		partitions: spec.fields.map((one, i) => summaryOf(files, one, i)),
	};
	return { bytes, manifest };
}

/** A manifest of the table, read: its entries, with the sequence numbers that they inherit. */
export type Entries = AvroFile & { manifest: Manifest };

export function readManifest(manifest: Manifest, bytes: Uint8Array): Entries {
	const file = readAvro(bytes);
	const inherited = manifest.sequence_number ?? 0;
	const records = file.records.map((entry) => ({
		...entry,
		snapshot_id: entry.snapshot_id ?? manifest.added_snapshot_id ?? null,
		sequence_number: entry.sequence_number ?? inherited,
		file_sequence_number: entry.file_sequence_number ?? inherited,
	}));
	return { ...file, records, manifest };
}

function dataFileOf(entry: AvroRecord): AvroRecord {
	const file = entry.data_file;
	if (
		typeof file === "object" &&
		file !== null &&
		!Array.isArray(file) &&
		!(file instanceof Uint8Array)
	)
		return file;
	throw new MisconfiguredError("A manifest of the table has an entry without a file.");
}

/** The paths of the files of a manifest that are part of the table, and the number of their rows. */
export const liveFiles = ({ records }: Entries) =>
	records
		.filter(({ status }) => Number(status) !== DELETED)
		.map((entry) => {
			const { file_path, record_count, file_size_in_bytes } = dataFileOf(entry);
			return {
				path: String(file_path),
				rows: Number(record_count),
				bytes: Number(file_size_in_bytes),
			};
		});

/** Writes a manifest again in which the files with these paths are deleted. */
export function withoutFiles(
	{ metadata, schema, records, manifest }: Entries,
	snapshot: Snapshot,
	path: string,
	removed: ReadonlySet<string>,
) {
	const live = records.filter(({ status }) => Number(status) !== DELETED);
	const isRemoved = (entry: AvroRecord) => removed.has(String(dataFileOf(entry).file_path));
	const rowsOf = (entries: AvroRecord[]) =>
		entries.reduce((sum, entry) => sum + Number(dataFileOf(entry).record_count), 0);
	const gone = live.filter(isRemoved);
	const kept = live.filter((entry) => !isRemoved(entry));
	const bytes = writeAvro({
		metadata,
		schema,
		records: live.map((entry) =>
			isRemoved(entry)
				? { ...entry, status: DELETED, snapshot_id: snapshot.id }
				: { ...entry, status: 0 },
		),
	});
	const sequences = live.map(({ sequence_number }) => Number(sequence_number));
	const again: Manifest = {
		...listed(snapshot, path, bytes, {
			...totals,
			existing: [kept.length, rowsOf(kept)],
			deleted: [gone.length, rowsOf(gone)],
		}),
		partition_spec_id: manifest.partition_spec_id ?? 0,
		min_sequence_number: Math.min(snapshot.sequence, ...sequences),
		partitions: manifest.partitions ?? null,
	};
	return { bytes, manifest: again };
}
