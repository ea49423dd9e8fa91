/** A parsed query of an export. Its expressions have placeholders, whose values are in `values`. */
export type QuerySchema = {
	fields: { expression: string; alias: string }[];
	/** Only if the query has a WHERE clause. */
	where?: string;
	values: Record<string, string | number | boolean>;
	xql_query: string;
};
