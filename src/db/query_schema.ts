/**
 * An export's query after parsing. The expressions have placeholders, which `values` maps to their
 * values.
 */
export type QuerySchema = {
	fields: { expression: string; alias: string }[];
	/** Only of a query that has a WHERE. */
	where?: string;
	values: Record<string, string | number | boolean>;
	xql_query: string;
};
