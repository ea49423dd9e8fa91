/** Tables of Iceberg's catalog, as exports, customers and others use them. */
import { env } from "cloudflare:workers";
import { expect } from "vitest";
import type { Job } from "../../../src/exports/destinations/destination.ts";
import type { Row } from "../../../src/exports/query/rows.ts";
import { destinationOf, job, listS3 } from "../../support/exporting.ts";
import type { Fault } from "../../support/faults.ts";
import { HANG_MS } from "../../support/hang.ts";
import { NAMESPACE, TOKEN } from "../../support/iceberg.ts";
import { ICEBERG } from "./adapters.ts";
import { write as writeTo } from "./table_cases.ts";

export const fresh = () => `t-${crypto.randomUUID()}`;

/** An export to a table of the catalog. */
export const to = (table_name: string, more: object = {}, timeoutMs = HANG_MS) =>
	destinationOf(env, "Iceberg", { ...ICEBERG, table_name, ...more }, { timeoutMs });

export const AT_PROXY = { catalog_uri: env.ICEBERG_FAULTS_URL };

/** Sets the next answers to requests of a table, through the proxy. */
export const failing = (table: string, ...faults: Fault[]) =>
	fetch(`${env.ICEBERG_FAULTS_URL}faults/${table}`, {
		method: "PUT",
		body: JSON.stringify(faults),
	});

/** Sends a request to the catalog, as another program does. */
export async function ask(method: string, path: string, body?: object) {
	const response = await fetch(`${env.ICEBERG_URL}/v1/namespaces/${NAMESPACE}/tables${path}`, {
		method,
		headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
		...(body && { body: JSON.stringify(body) }),
	});
	const text = await response.text();
	if (!response.ok) throw new Error(text);
	return text ? JSON.parse(text) : null;
}

/** What others do with a table (test/support/iceberg/readers.py). */
export async function others(act: "rewrite" | "expire" | "drop", table: string) {
	const body = JSON.stringify({ do: act, table: `${NAMESPACE}.${table}` });
	const response = await fetch(`${env.ICEBERG_URL}/readers`, { method: "POST", body });
	expect([response.status, await response.text()]).toEqual([200, "null"]);
}

export const metadataOf = async (table: string) => (await ask("GET", `/${table}`)).metadata;

export const summariesOf = async (table: string): Promise<Record<string, string>[]> =>
	(await metadataOf(table)).snapshots.map(({ summary }: { summary: object }) => summary);

/** The data files of a table that are in the bucket. */
export const filesOf = async (table: string) =>
	(await listS3(`warehouse/${NAMESPACE}/${table}/`)).filter((key) => key.endsWith(".parquet"));

/** The job of a window, by its number. */
export const windowOf = (export_id: string, n: number, more: Partial<Job> = {}) => {
	const at = (hour: number) => new Date(Date.UTC(2024, 0, 1, hour)).toISOString();
	return job({ export_id, start: at(n), end: at(n + 1), isRepeat: false, ...more });
};

/** Writes rows as one run. */
export const write = (table: string, what: Job, page: Row[], more: object = {}) =>
	writeTo(to(table, more), what, page);

export const COLUMN = (name: string, type: unknown, required = false) => ({ name, type, required });
export const ALL = [
	...["uuid", "event", "properties"].map((name) => COLUMN(name, "string")),
	COLUMN("amount", "double"),
	COLUMN("team_id", "long"),
	COLUMN("paid", "boolean"),
	COLUMN("day", "date"),
	COLUMN("timestamp", "timestamptz"),
];
export const withColumn = (...change: ReturnType<typeof COLUMN>[]) => [
	...ALL.filter(({ name }) => !change.some((one) => one.name === name)),
	...change,
];

/** Creates a table, as a customer does. */
export async function makeTable(
	table: string,
	{
		fields = ALL,
		partition,
		version = "2",
	}: {
		fields?: typeof ALL;
		partition?: { name: string; transform: string; source: string };
		version?: string;
	},
) {
	const at = fields.findIndex(({ name }) => name === partition?.source);
	await ask("POST", "", {
		name: table,
		schema: { type: "struct", fields: fields.map((field, i) => ({ id: i + 1, ...field })) },
		...(partition && {
			"partition-spec": {
				"spec-id": 0,
				fields: [
					{
						name: partition.name,
						transform: partition.transform,
						"source-id": at + 1,
						"field-id": 1000,
					},
				],
			},
		}),
		properties: { "format-version": version },
	});
}
