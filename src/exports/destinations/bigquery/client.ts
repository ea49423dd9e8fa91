import * as z from "zod";
import { apiOf, type Connection } from "./api.ts";
import type { Settings } from "./definition.ts";
import { jobRunner } from "./jobs.ts";

const DatasetBody = z.object({ location: z.string() });

/** A parameter of a type, such as its precision, which the API has as text. */
const Parameter = z.coerce.number().optional();

const TableBody = z.object({
	schema: z
		.object({
			fields: z.array(
				z.object({
					name: z.string(),
					type: z.string(),
					mode: z.string().optional(),
					precision: Parameter,
					scale: Parameter,
					maxLength: Parameter,
				}),
			),
		})
		.default({ fields: [] }),
});

export type Fields = z.infer<typeof TableBody>["schema"]["fields"];

export type Field = Fields[number];

export type Client = ReturnType<typeof connect>;

export function connect(connection: Connection, config: Settings) {
	const { project_id, dataset_id } = config;
	const api = apiOf(connection, config);
	const { ask, reach, signIn } = api;
	const dataset = `/datasets/${dataset_id}`;
	const pathOf = (table: string) => `${dataset}/tables/${encodeURIComponent(table)}`;
	let location: string | undefined;

	/** Returns the location of the dataset, where its jobs must run. */
	async function locate() {
		const found = await ask(DatasetBody, [], "GET", dataset, { query: { fields: "location" } });
		location ??= found?.location ?? "";
		return location;
	}

	const tableReference = (table: string) => ({
		projectId: project_id,
		datasetId: dataset_id,
		tableId: table,
	});

	const runJob = jobRunner(api, project_id, async () => location ?? locate(), connection.timeoutMs);

	return {
		locate,
		reach,
		signIn,

		/** Returns the columns of a table; null if the table doesn't exist. */
		async fieldsOf(table: string): Promise<Fields | null> {
			const query = { fields: "schema(fields(name,type,mode,precision,scale,maxLength))" };
			const found = await ask(TableBody, [404], "GET", pathOf(table), { query });
			return found?.schema.fields ?? null;
		},

		/** Creates a table if it is missing. BigQuery removes it after `lifetimeMs`, if given. */
		async createTable(table: string, fields: Fields, lifetimeMs?: number) {
			await ask(z.unknown(), [409], "POST", `${dataset}/tables`, {
				body: JSON.stringify({
					tableReference: tableReference(table),
					schema: { fields },
					...(lifetimeMs && { expirationTime: String(Date.now() + lifetimeMs) }),
				}),
			});
		},

		/** Removes a table if it exists. */
		async dropTable(table: string) {
			await ask(z.unknown(), [404], "DELETE", pathOf(table));
		},

		load: (id: string, table: string, rows: Uint8Array[]) =>
			runJob(
				id,
				{
					load: {
						destinationTable: tableReference(table),
						sourceFormat: "NEWLINE_DELIMITED_JSON",
						createDisposition: "CREATE_NEVER",
						writeDisposition: "WRITE_APPEND",
					},
				},
				rows,
			),

		query: (id: string, sql: string) => runJob(id, { query: { query: sql, useLegacySql: false } }),
	};
}
