import { Column, type DriverValueDecoder, is, SQL, Subquery } from "drizzle-orm";

/** A column of a result: its name in the object, its place in the row, and how it is decoded. */
type Value = { name: string; at: number; decoder: DriverValueDecoder<unknown, unknown> };

/** An object in the object. */
type Nested = { name: string; fields: Field[] };

type Field = Value | Nested;

/** Whether a field of a select is a value, and not an object of fields. */
export const isValue = (field: unknown) =>
	is(field, Column) || is(field, SQL) || is(field, SQL.Aliased) || is(field, Subquery);

function decoderOf(field: unknown): Value["decoder"] {
	if (is(field, Column)) return field;
	const source = is(field, SQL.Aliased) ? field.sql : is(field, Subquery) ? field._.sql : field;
	// Drizzle's types hide it.
	return Reflect.get(Object(source), "decoder");
}

/** The name of a field in the result; undefined if SQLite makes one. */
const columnOf = (field: unknown) =>
	is(field, Column) ? field.name : is(field, SQL.Aliased) ? field.fieldAlias : undefined;

function read(fields: Field[], values: unknown[]) {
	const result: Record<string, unknown> = {};
	for (const field of fields)
		if ("fields" in field) result[field.name] = read(field.fields, values);
		else {
			const value = values[field.at];
			result[field.name] = value === null ? null : field.decoder.mapFromDriverValue(value);
		}
	return result;
}

/**
 * Returns a function that turns a row of D1 into an object, as Drizzle does. What is the same for all rows is looked up once,
 * where Drizzle does so for each value.
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
	return (row: object) => read(fields, Object.values(row));
}
