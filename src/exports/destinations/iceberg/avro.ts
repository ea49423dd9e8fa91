/**
 * Avro object container files (https://avro.apache.org/docs/1.12.0/specification), as Iceberg uses
 * them for its manifests. The libraries of npm compile functions from text, which workerd forbids.
 */
// Imported because the global `Buffer` is slow to access in workerd.
import { Buffer } from "node:buffer";
import { deflateRawSync, inflateRawSync } from "node:zlib";
import * as z from "zod";
import { MisconfiguredError } from "../../../outbound/errors.ts";

export type Field = { name: string; type: Schema; "field-id"?: number | undefined };

export type Schema =
	| string
	| Schema[]
	| { type: "record"; name: string; fields: Field[] }
	| { type: "array"; items: Schema; "element-id"?: number | undefined; logicalType?: string }
	| { type: "map"; values: Schema }
	| { type: "fixed"; name: string; size: number }
	| { type: "enum"; name: string; symbols: string[] }
	| { type: string; logicalType?: string };

/** A datum. A long is a bigint if a number would lose digits of it. */
export type Datum = null | boolean | number | bigint | string | Uint8Array | Datum[] | AvroRecord;
export type AvroRecord = { [name: string]: Datum };

const MAGIC = Buffer.from("Obj\u0001", "latin1");
const SYNC_BYTES = 16;

/** The maximum size of a block, so that a broken file can't fill the memory. */
const MAX_BLOCK_BYTES = 64 * 2 ** 20;

const broken = () => new MisconfiguredError("A manifest of the table isn't a valid Avro file.");

type Reader = ReturnType<typeof readerOf>;

function readerOf(bytes: Uint8Array) {
	const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	let at = 0;
	function take(length: number) {
		if (length < 0 || at + length > buffer.length) throw broken();
		at += length;
		return buffer.subarray(at - length, at);
	}
	return {
		take,
		isAtEnd: () => at >= buffer.length,
		/** A zigzag-encoded integer of variable length. */
		long(): number | bigint {
			let value = 0n;
			for (let shift = 0n; ; shift += 7n) {
				const [byte = 0] = take(1);
				value |= BigInt(byte & 127) << shift;
				if (byte < 128) break;
				if (shift > 63n) throw broken();
			}
			const signed = BigInt.asIntN(64, (value >> 1n) ^ -(value & 1n));
			const number = Number(signed);
			return Number.isSafeInteger(number) ? number : signed;
		},
		size() {
			return Number(this.long());
		},
	};
}

/** The named types of a schema, by name. */
type Names = Map<string, Schema>;

function collect(schema: Schema, names: Names): Names {
	if (typeof schema === "string") return names;
	if (Array.isArray(schema)) for (const one of schema) collect(one, names);
	else {
		if ("name" in schema) names.set(schema.name, schema);
		if ("fields" in schema) for (const { type } of schema.fields) collect(type, names);
		if ("items" in schema) collect(schema.items, names);
		if ("values" in schema) collect(schema.values, names);
	}
	return names;
}

/** Reads the blocks of an array or a map. */
function readItems(reader: Reader, item: () => void) {
	for (let count = reader.size(); count !== 0; count = reader.size()) {
		// A negative count is followed by the block's size.
		if (count < 0) reader.long();
		for (let i = Math.abs(count); i > 0; i -= 1) item();
	}
}

function readPrimitive(type: string, reader: Reader): Datum {
	switch (type) {
		case "null":
			return null;
		case "boolean":
			return reader.take(1)[0] === 1;
		case "int":
		case "long":
			return reader.long();
		case "float":
			return reader.take(4).readFloatLE();
		case "double":
			return reader.take(8).readDoubleLE();
		case "bytes":
			return new Uint8Array(reader.take(reader.size()));
		case "string":
			return reader.take(reader.size()).toString();
	}
	throw broken();
}

function read(schema: Schema, reader: Reader, names: Names): Datum {
	if (typeof schema === "string") {
		const named = names.get(schema);
		return named ? read(named, reader, names) : readPrimitive(schema, reader);
	}
	if (Array.isArray(schema)) {
		const branch = schema[reader.size()];
		if (branch === undefined) throw broken();
		return read(branch, reader, names);
	}
	if ("fields" in schema)
		return Object.fromEntries(
			schema.fields.map(({ name, type }) => [name, read(type, reader, names)]),
		);
	if ("items" in schema) {
		const items: Datum[] = [];
		readItems(reader, () => items.push(read(schema.items, reader, names)));
		return items;
	}
	if ("values" in schema) {
		const entries: [string, Datum][] = [];
		readItems(reader, () => {
			const key = String(readPrimitive("string", reader));
			entries.push([key, read(schema.values, reader, names)]);
		});
		return Object.fromEntries(entries);
	}
	if ("size" in schema) return new Uint8Array(reader.take(schema.size));
	if ("symbols" in schema) return schema.symbols[reader.size()] ?? null;
	return readPrimitive(schema.type, reader);
}

type Writer = ReturnType<typeof writerOf>;

function writerOf() {
	const pieces: Uint8Array[] = [];
	const bytes = (piece: Uint8Array) => {
		pieces.push(piece);
	};
	function long(value: number | bigint) {
		let rest = BigInt.asUintN(64, (BigInt(value) << 1n) ^ (BigInt(value) >> 63n));
		const written: number[] = [];
		do {
			const low = Number(rest & 127n);
			rest >>= 7n;
			written.push(rest > 0n ? low | 128 : low);
		} while (rest > 0n);
		bytes(Uint8Array.from(written));
	}
	return {
		long,
		bytes,
		sized(piece: Uint8Array) {
			long(piece.length);
			bytes(piece);
		},
		all: () => Buffer.concat(pieces),
	};
}

const integerOf = (value: Datum) => {
	if (typeof value === "number" || typeof value === "bigint") return value;
	throw broken();
};

function writePrimitive(type: string, value: Datum, writer: Writer): unknown {
	const space = Buffer.alloc(8);
	switch (type) {
		case "null":
			return undefined;
		case "boolean":
			return writer.bytes(Uint8Array.of(value === true ? 1 : 0));
		case "int":
		case "long":
			return writer.long(integerOf(value));
		case "float":
			return writer.bytes(space.subarray(0, space.writeFloatLE(Number(value))));
		case "double":
			return writer.bytes(space.subarray(0, space.writeDoubleLE(Number(value))));
		case "bytes":
			return writer.sized(value instanceof Uint8Array ? value : Buffer.from(""));
		case "string":
			return writer.sized(Buffer.from(String(value)));
	}
	throw broken();
}

const isRecord = (value: Datum): value is AvroRecord =>
	typeof value === "object" &&
	value !== null &&
	!Array.isArray(value) &&
	!(value instanceof Uint8Array);

function writeItems<T>(items: T[], writer: Writer, item: (one: T) => void) {
	if (items.length > 0) writer.long(items.length);
	for (const one of items) item(one);
	writer.long(0);
}

function write(schema: Schema, value: Datum, writer: Writer, names: Names): unknown {
	if (typeof schema === "string") {
		const named = names.get(schema);
		return named ? write(named, value, writer, names) : writePrimitive(schema, value, writer);
	}
	if (Array.isArray(schema)) {
		// Iceberg's unions are "null or a type".
		const index = schema.findIndex((branch) => (branch === "null") === (value === null));
		const branch = schema[index];
		if (branch === undefined || schema.length > 2) throw broken();
		writer.long(index);
		return write(branch, value, writer, names);
	}
	if ("fields" in schema) {
		if (!isRecord(value)) throw broken();
		for (const { name, type } of schema.fields) write(type, value[name] ?? null, writer, names);
		return undefined;
	}
	if ("items" in schema) {
		const items = Array.isArray(value) ? value : [];
		return writeItems(items, writer, (one) => write(schema.items, one, writer, names));
	}
	if ("values" in schema)
		return writeItems(Object.entries(isRecord(value) ? value : {}), writer, ([key, one]) => {
			writePrimitive("string", key, writer);
			write(schema.values, one, writer, names);
		});
	if ("size" in schema && value instanceof Uint8Array) return writer.bytes(value);
	if ("symbols" in schema) return writer.long(schema.symbols.indexOf(String(value)));
	return writePrimitive(schema.type, value, writer);
}

/** A file: the metadata of its header, the schema of its records, and its records. */
export type AvroFile = {
	metadata: Record<string, string>;
	schema: Schema;
	records: AvroRecord[];
};

const SCHEMA_KEY = "avro.schema";
const CODEC_KEY = "avro.codec";

const HEADER: Schema = { type: "map", values: "bytes" };

const FieldShape = z.object({
	name: z.string(),
	type: z.lazy(() => SchemaShape),
	"field-id": z.int().optional(),
});

/** A schema; attributes that Avro allows beside these are kept. */
const SchemaShape: z.ZodType<Schema> = z.union([
	z.string(),
	z.array(z.lazy(() => SchemaShape)),
	z.looseObject({
		type: z.literal("record"),
		name: z.string(),
		fields: z.array(FieldShape.loose()),
	}),
	z.looseObject({ type: z.literal("array"), items: z.lazy(() => SchemaShape) }),
	z.looseObject({ type: z.literal("map"), values: z.lazy(() => SchemaShape) }),
	z.looseObject({ type: z.literal("fixed"), name: z.string(), size: z.int() }),
	z.looseObject({ type: z.literal("enum"), name: z.string(), symbols: z.array(z.string()) }),
	z.looseObject({ type: z.string() }),
]);

function decompressed(codec: string, block: Uint8Array) {
	if (codec === "null") return block;
	if (codec === "deflate") return inflateRawSync(block, { maxOutputLength: MAX_BLOCK_BYTES });
	throw new MisconfiguredError(
		`A manifest of the table is compressed with ${codec}: set the table property write.avro.compression-codec to gzip, and rewrite the manifests.`,
	);
}

/** @throws MisconfiguredError if the bytes aren't an Avro file, or have an unknown compression */
export function readAvro(bytes: Uint8Array): AvroFile {
	const reader = readerOf(bytes);
	if (!reader.take(MAGIC.length).equals(MAGIC)) throw broken();
	const header = read(HEADER, reader, new Map());
	if (!isRecord(header)) throw broken();
	const texts = Object.entries(header).map(([name, value]): [string, string] => [
		name,
		value instanceof Uint8Array ? Buffer.from(value).toString() : "",
	]);
	const {
		[SCHEMA_KEY]: json = "null",
		[CODEC_KEY]: codec = "null",
		...metadata
	} = Object.fromEntries(texts);
	const parsed = SchemaShape.safeParse(JSON.parse(json));
	if (!parsed.success) throw broken();
	const schema = parsed.data;
	const names = collect(schema, new Map());
	const records: AvroRecord[] = [];
	reader.take(SYNC_BYTES);
	while (!reader.isAtEnd()) {
		const count = reader.size();
		const block = readerOf(decompressed(codec, reader.take(reader.size())));
		for (let i = 0; i < count; i += 1) {
			const record = read(schema, block, names);
			if (!isRecord(record)) throw broken();
			records.push(record);
		}
		reader.take(SYNC_BYTES);
	}
	return { metadata, schema, records };
}

export function writeAvro({ metadata, schema, records }: AvroFile): Uint8Array {
	const names = collect(schema, new Map());
	const header: AvroRecord = {};
	const all = { ...metadata, [SCHEMA_KEY]: JSON.stringify(schema), [CODEC_KEY]: "deflate" };
	for (const [name, text] of Object.entries(all)) header[name] = Buffer.from(text);
	const sync = crypto.getRandomValues(new Uint8Array(SYNC_BYTES));
	const file = writerOf();
	file.bytes(MAGIC);
	write(HEADER, header, file, names);
	file.bytes(sync);
	if (records.length > 0) {
		const block = writerOf();
		for (const record of records) write(schema, record, block, names);
		file.long(records.length);
		file.sized(deflateRawSync(block.all()));
		file.bytes(sync);
	}
	return file.all();
}
