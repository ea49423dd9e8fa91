/** The columns and partitions of a table, for the columns of an export. */
import { MisconfiguredError } from "../../../outbound/errors.ts";
import type { Kind } from "../../query/expression.ts";
import type { Column } from "../../query/rows.ts";
import type { Job } from "../destination.ts";
import type { Catalog, LoadedTable, Metadata, NewTable } from "./catalog.ts";
import type { PartitionField } from "./manifests.ts";
import { type Transform, transformOf } from "./transforms.ts";

/** The version of the format that exports write: version 3 gives each row an id. */
const FORMAT_VERSION = 2;

/** The types of columns. JSON is text, which all readers understand. */
const TYPES: Record<Kind, string> = {
	text: "string",
	json: "string",
	integer: "long",
	number: "double",
	boolean: "boolean",
	date: "date",
	timestamp: "timestamptz",
};

/** How a new table is partitioned, if the export has the column. */
const PARTITIONS: Record<Job["model"], { column: string; transform: string; name: string }> = {
	events: { column: "timestamp", transform: "day", name: "timestamp_day" },
	persons: { column: "person_id", transform: "bucket[8]", name: "person_id_bucket" },
};

const FIRST_PARTITION_ID = 1000;

function newTable({ columns, model }: Pick<Job, "columns" | "model">): NewTable {
	const { column, transform, name } = PARTITIONS[model];
	const at = columns.findIndex((one) => one.name === column);
	const kind = columns[at]?.kind;
	const isPartitioned = kind !== undefined && transformOf(transform, kind) !== null;
	return {
		schema: {
			type: "struct",
			"schema-id": 0,
			fields: columns.map(({ name, kind }, i) => ({
				id: i + 1,
				name,
				type: TYPES[kind],
				required: false,
			})),
		},
		spec: {
			"spec-id": 0,
			fields: isPartitioned
				? [{ name, transform, "source-id": at + 1, "field-id": FIRST_PARTITION_ID }]
				: [],
		},
		properties: {
			"format-version": String(FORMAT_VERSION),
			// Each commit writes the metadata of the table again. Only the last hundred files stay.
			"write.metadata.delete-after-commit.enabled": "true",
		},
	};
}

/** Returns the table, which is created if it is missing. */
export async function ensureTable(
	catalog: Catalog,
	job: Pick<Job, "columns" | "model">,
): Promise<LoadedTable> {
	const table =
		(await catalog.load()) ??
		(await catalog.create(newTable(job))) ??
		// Somebody else has created it in the meantime.
		(await catalog.load());
	if (table) return table;
	throw new Error(`The table ${catalog.name} was removed while it was opened.`);
}

/**
 * Returns the table, or what it would be if it is missing. Null if the catalog can't say that
 * without creating it.
 */
export async function previewTable(catalog: Catalog, job: Pick<Job, "columns" | "model">) {
	const table = await catalog.load();
	if (table) return table;
	// Some catalogs prepare tables in any namespace.
	await catalog.checkNamespace();
	return catalog.create(newTable(job), true);
}

/** What is written of rows: a column of the table for each column of the export. */
export type Layout = {
	columns: (Column & { field_id: number; isRequired: boolean })[];
	spec: { id: number; fields: PartitionField[]; json: string };
	schema: { id: number; json: string };
	/** The index of the column from which each partition follows, and how. */
	partitions: { column: number; transform: Transform }[];
} & ReturnType<typeof foldersOf>;

function columnsOf(
	fields: Metadata["schemas"][number]["fields"],
	columns: Column[],
	table: string,
) {
	const written = columns.map(({ name, kind }) => {
		const field = fields.find((one) => one.name === name);
		if (!field)
			throw new MisconfiguredError(
				`The table ${table} lacks the column ${name}, which the export writes: add it with the type ${TYPES[kind]}.`,
			);
		if (field.type !== TYPES[kind])
			throw new MisconfiguredError(
				`The column ${name} of the table ${table} has the type ${typeof field.type === "string" ? field.type : JSON.stringify(field.type)}, but the export writes ${TYPES[kind]}.`,
			);
		return { name, kind, field_id: field.id, isRequired: field.required };
	});
	const missing = fields.find(
		({ name, required }) => required && !columns.some((column) => column.name === name),
	);
	if (missing)
		throw new MisconfiguredError(
			`The column ${missing.name} of the table ${table} is required, but the export doesn't write it: make it optional.`,
		);
	return written;
}

/** Returns where the data files and the manifests of a table are. */
export function foldersOf({ metadata }: Pick<LoadedTable, "metadata">) {
	const { location, properties } = metadata;
	const folder = (property: string, name: string) =>
		(properties[property] ?? `${location.replace(/\/$/, "")}/${name}`).replace(/\/$/, "");
	return {
		data: folder("write.data.path", "data"),
		metadata: folder("write.metadata.path", "metadata"),
	};
}

/**
 * Returns how rows are written to a table. Columns that the export doesn't write stay empty.
 * @throws MisconfiguredError if the table's columns, partitions or version don't allow it
 */
export function layoutOf({ metadata }: LoadedTable, columns: Column[], table: string): Layout {
	const version = metadata["format-version"];
	if (version !== FORMAT_VERSION)
		throw new MisconfiguredError(
			`The table ${table} has version ${version} of Iceberg's format, but exports write version ${FORMAT_VERSION}.`,
		);
	const schema = metadata.schemas.find((one) => one["schema-id"] === metadata["current-schema-id"]);
	const spec = metadata["partition-specs"].find(
		(one) => one["spec-id"] === metadata["default-spec-id"],
	);
	if (!schema || !spec)
		throw new MisconfiguredError(`The metadata of the table ${table} lacks its current schema.`);
	const written = columnsOf(schema.fields, columns, table);
	const partitions = spec.fields.map((field) => {
		const column = written.findIndex(({ field_id }) => field_id === field["source-id"]);
		const transform = transformOf(field.transform, written[column]?.kind);
		if (!transform)
			throw new MisconfiguredError(
				`Exports can't write the partition ${field.name} (${field.transform}) of the table ${table}.`,
			);
		return { id: field["field-id"], column, transform };
	});
	return {
		columns: written,
		spec: {
			id: spec["spec-id"],
			fields: partitions.map(({ id, transform }) => ({ id, type: transform.type })),
			json: JSON.stringify(spec.fields),
		},
		schema: { id: schema["schema-id"], json: JSON.stringify(schema) },
		partitions,
		...foldersOf({ metadata }),
	};
}
