import { Column, type DriverValueDecoder, is, SQL, Subquery } from "drizzle-orm";

/** A column of a result: where its value goes in the object, and how it is decoded. */
type Field = {
	parent: string | undefined;
	name: string;
	decoder: DriverValueDecoder<unknown, unknown>;
	column: string | undefined;
};

/** Whether a field of a select is a value, and not an object of fields. */
export const isValue = (field: unknown) =>
	is(field, Column) || is(field, SQL) || is(field, SQL.Aliased) || is(field, Subquery);

function decoderOf(field: unknown): Field["decoder"] {
	if (is(field, Column)) return field;
	const source = is(field, SQL.Aliased) ? field.sql : is(field, Subquery) ? field._.sql : field;
	// Drizzle's types hide it.
	return Reflect.get(Object(source), "decoder");
}

/** The columns of a select, in their order. */
const fieldsOf = (fields: object, parent?: string): Field[] =>
	Object.entries(fields).flatMap(([name, field]) => {
		if (isValue(field))
			return [{ parent, name, decoder: decoderOf(field), column: columnOf(field) }];
		if (parent !== undefined) throw new Error("A kept select can't have objects in objects.");
		return fieldsOf(field, name);
	});

/** The name of a field in the result; undefined if SQLite makes one. */
const columnOf = (field: unknown) =>
	is(field, Column) ? field.name : is(field, SQL.Aliased) ? field.fieldAlias : undefined;

/**
 * Returns a function that turns a row of D1 into an object, as Drizzle does. What is the same for all rows is looked up once,
 * where Drizzle does so for each value.
 * @param fields what the statement selects: columns, SQL, and objects of these
 * @throws if two columns have the same name, of which D1 returns only one
 */
export function rowReader(fields: object) {
	const columns = fieldsOf(fields);
	const names = columns.flatMap(({ column }) => column ?? []);
	if (new Set(names).size < names.length)
		throw new Error(`Columns of a kept select have the same name: ${names}`);
	return (row: object) => {
		const values: unknown[] = Object.values(row);
		const result: Record<string, unknown> = {};
		const nested: Record<string, Record<string, unknown>> = {};
		columns.forEach(({ parent, name, decoder }, i) => {
			const value = values[i];
			const decoded = value === null ? null : decoder.mapFromDriverValue(value);
			if (parent === undefined) result[name] = decoded;
			else {
				nested[parent] ??= {};
				nested[parent][name] = decoded;
				result[parent] = nested[parent];
			}
		});
		return result;
	};
}
