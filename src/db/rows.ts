import { Column, type DriverValueDecoder, is, noopDecoder, SQL, Subquery } from "drizzle-orm";

type Decoder = DriverValueDecoder<unknown, unknown>;

/** A column of a result: its name in the object, its index in the row, and its decoder, if any. */
type Value = { name: string; at: number; decoder: Decoder | undefined };

/** A nested object. */
type Nested = { name: string; fields: Field[] };

type Field = Value | Nested;

/** Whether a field of a select is a value instead of a nested object. */
export const isValue = (field: unknown) =>
	is(field, Column) || is(field, SQL) || is(field, SQL.Aliased) || is(field, Subquery);

function decoderOf(field: unknown): Decoder | undefined {
	const source = is(field, SQL.Aliased) ? field.sql : is(field, Subquery) ? field._.sql : field;
	// Drizzle's types don't include the property.
	const decoder: Decoder = is(field, Column) ? field : Reflect.get(Object(source), "decoder");
	const { mapFromDriverValue: map } = decoder;
	const isIdle = map === Column.prototype.mapFromDriverValue || decoder === noopDecoder;
	return isIdle ? undefined : decoder;
}

/** Returns the name of a field in the result; undefined if SQLite generates it. */
const columnOf = (field: unknown) =>
	is(field, Column) ? field.name : is(field, SQL.Aliased) ? field.fieldAlias : undefined;

/** Returns the names of a select's columns; undefined for names that SQLite generates. */
export const columnNames = (fields: object): (string | undefined)[] =>
	Object.values(fields).flatMap((field) =>
		isValue(field) ? [columnOf(field)] : columnNames(field),
	);

/** A row of D1. */
export type Row = Record<string, unknown>;

const decode = (value: unknown, decoder: Decoder | undefined) =>
	value === null || !decoder ? value : decoder.mapFromDriverValue(value);

function read(fields: Field[], values: unknown[]) {
	const result: Record<string, unknown> = {};
	for (const field of fields)
		if ("fields" in field) result[field.name] = read(field.fields, values);
		else result[field.name] = decode(values[field.at], field.decoder);
	return result;
}

/**
 * Returns a function that converts a row of D1 to an object, like Drizzle, which repeats for each
 * value what is the same for all rows.
 * @param selected the fields of the select: columns, SQL, and objects of these
 * @throws if two columns have the same name, because D1 would return only one of them
 */
export function rowReader(selected: object) {
	const names = columnNames(selected);
	let columns = 0;
	const fieldsOf = (fields: object): Field[] =>
		Object.entries(fields).map(([name, field]) => {
			if (!isValue(field)) return { name, fields: fieldsOf(field) };
			return { name, at: columns++, decoder: decoderOf(field) };
		});
	const fields = fieldsOf(selected);
	const known = names.filter((name) => name !== undefined);
	if (new Set(known).size < known.length)
		throw new Error(`Columns of a cached select have the same name: ${known}`);
	return (row: Row) => read(fields, Object.values(row));
}
