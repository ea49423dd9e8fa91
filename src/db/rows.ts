import { Column, type DriverValueDecoder, is, noopDecoder, SQL, Subquery } from "drizzle-orm";

type Decoder = DriverValueDecoder<unknown, unknown>;

/** A column of a result: its name in the object, its place in the row, and how it is decoded; undefined if it isn't. */
type Value = { name: string; at: number; decoder: Decoder | undefined };

/** An object in the object. */
type Nested = { name: string; fields: Field[] };

type Field = Value | Nested;

/** Whether a field of a select is a value, and not an object of fields. */
export const isValue = (field: unknown) =>
	is(field, Column) || is(field, SQL) || is(field, SQL.Aliased) || is(field, Subquery);

function decoderOf(field: unknown): Decoder | undefined {
	const source = is(field, SQL.Aliased) ? field.sql : is(field, Subquery) ? field._.sql : field;
	// Drizzle's types hide it.
	const decoder: Decoder = is(field, Column) ? field : Reflect.get(Object(source), "decoder");
	const { mapFromDriverValue: map } = decoder;
	const isIdle = map === Column.prototype.mapFromDriverValue || decoder === noopDecoder;
	return isIdle ? undefined : decoder;
}

/** The name of a field in the result; undefined if SQLite makes one. */
const columnOf = (field: unknown) =>
	is(field, Column) ? field.name : is(field, SQL.Aliased) ? field.fieldAlias : undefined;

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
 * Returns a function that turns a row of D1 into an object, as Drizzle does. What is the same for all rows is looked up once,
 * where Drizzle does so for each value. An object with the names of the columns is the row itself: most of the time goes into
 * making objects whose names aren't in the code.
 * @param selected what the statement selects: columns, SQL, and objects of these
 * @throws if two columns have the same name, of which D1 returns only one
 */
export function rowReader(selected: object) {
	/** The names of the columns; undefined for those that SQLite makes up. */
	const names: (string | undefined)[] = [];
	const fieldsOf = (fields: object): Field[] =>
		Object.entries(fields).map(([name, field]) => {
			if (!isValue(field)) return { name, fields: fieldsOf(field) };
			return { name, at: names.push(columnOf(field)) - 1, decoder: decoderOf(field) };
		});
	const fields = fieldsOf(selected);
	const known = names.filter((name) => name !== undefined);
	if (new Set(known).size < known.length)
		throw new Error(`Columns of a kept select have the same name: ${known}`);
	const own = fields.flatMap((field) =>
		"fields" in field || names[field.at] !== field.name ? [] : field,
	);
	if (own.length < fields.length) return (row: Row) => read(fields, Object.values(row));
	const decoded = own.filter(({ decoder }) => decoder);
	return (row: Row) => {
		for (const { name, decoder } of decoded) row[name] = decode(row[name], decoder);
		return row;
	};
}
