/** Each type of destination, with a server on loopback: what its conformance cases need. */
import { env } from "cloudflare:workers";
import { createClient } from "@clickhouse/client-web";
import type { Type } from "../../../src/exports/destinations/index.ts";
import * as azure from "../../support/azure.ts";
import { ACCOUNT as SERVICE_ACCOUNT } from "../../support/bigquery.ts";
import { KEYS } from "../../support/bucket.ts";
import {
	destinationOf,
	listS3,
	noPostgres,
	received,
	type Target,
} from "../../support/exporting.ts";
import { HANG_MS } from "../../support/hang.ts";
import { NAMESPACE, TOKEN } from "../../support/iceberg.ts";
import { missing } from "../../support/missing.ts";
import { AzureBlob, type Bucket, GCS, R2, S3 } from "./bucket_cases.ts";
import * as postgres from "./postgres_tables.ts";

/** How a destination is opened. */
type Opening = { env?: Env; timeoutMs?: number };

/** A new folder, table or path. */
type Place = {
	to(more?: object): Target;
	/** Returns the values of `team_id` in all rows that are there, sorted. */
	numbers(): Promise<number[]>;
	/** Returns the names of the objects or tables that are there. */
	names(): Promise<string[]>;
};

export type Adapter = {
	/** Returns why the cases are skipped; "" if the server runs. */
	start(): Promise<string>;
	/** A valid config. */
	config: object;
	place(): Place;
	/** How many rows a run writes in several parts. */
	many: number;
	/** Rows appear only when the run is closed. */
	appearsAtEnd?: true;
	/** Two runs of a window write the same rows to the same place. */
	sharesRows?: true;
	/** Returns the settings for a server at an origin; missing if there is no server. */
	at?(origin: string): object;
	/** Its client doesn't use `fetch`. */
	hasOwnProtocol?: true;
	/** Settings with credentials that the server rejects, and words of the error. */
	rejected?: { settings: object; words: string; secret: string };
};

const RUNS = async () => "";

const hostOf = (url: string) => new URL(url).host;

const open = (
	type: Type,
	config: object,
	{ env: bindings = env, timeoutMs = HANG_MS }: Opening = {},
) => destinationOf(bindings, type, config, { timeoutMs });

/** Opens the destination of a type with other settings than those of its adapter. */
export const opened = (type: Exclude<Type, "NoOp">, more: object, opening?: Opening) =>
	open(type, { ...ADAPTERS[type].config, ...more }, opening);

const sorted = (numbers: number[]) => numbers.toSorted((a, b) => a - b);

const inBucket = (bucket: Bucket): Pick<Adapter, "config" | "place" | "many" | "appearsAtEnd"> => ({
	config: { prefix: "", ...bucket.settings },
	many: 20_000,
	appearsAtEnd: true,
	place() {
		const prefix = crypto.randomUUID();
		const keys = () => bucket.list(bucket.folder + prefix);
		return {
			to: (more) => bucket.to({ prefix, ...more }),
			names: keys,
			async numbers() {
				const files = await Promise.all((await keys()).map(bucket.read));
				const lines = files.flatMap((file) => Buffer.from(file).toString().trim().split("\n"));
				return sorted(lines.map((line) => JSON.parse(line).team_id));
			},
		};
	},
});

/** The result of a query in a server that may lack the table. */
type Query = (table: string) => Promise<{ team_id: unknown }[] | null>;

const inTable = (
	query: Query,
	to: (table: string, more?: object) => Target,
	fresh: () => string,
): Pick<Adapter, "place" | "sharesRows"> => ({
	sharesRows: true,
	place() {
		const table = fresh();
		return {
			to: (more) => to(table, more),
			names: async () => ((await query(table)) === null ? [] : [table]),
			numbers: async () =>
				sorted(((await query(table)) ?? []).map(({ team_id }) => Number(team_id))),
		};
	},
});

const CLICKHOUSE = {
	url: env.CLICKHOUSE_URL,
	user: env.CLICKHOUSE_USER,
	password: env.CLICKHOUSE_PASSWORD,
	database: "default",
};

const BIGQUERY = {
	...SERVICE_ACCOUNT,
	private_key: env.BIGQUERY_PRIVATE_KEY,
	token_uri: `${env.BIGQUERY_URL}/token`,
	endpoint_url: env.BIGQUERY_URL,
};

async function queryPostgres(table: string) {
	const name = postgres.quoted(table);
	const [{ there }] = await postgres.ask("select to_regclass($1) as there", [name]);
	return there === null ? null : postgres.ask(`select team_id from ${name}`);
}

async function queryClickHouse(table: string) {
	const { url, user, password } = CLICKHOUSE;
	const client = createClient({ url, username: user, password: password ?? "" });
	const query = `select team_id from \`${table}\` final`;
	const result = await client.query({ query, format: "JSON" }).catch((error: unknown) => {
		if (String(error).includes("Unknown table")) return null;
		throw error;
	});
	return result && (await result.json<{ team_id: string }>()).data;
}

async function queryBigQuery(table: string) {
	const ask = async (sql: string): Promise<{ one: string | null }[]> => {
		const response = await fetch(`${env.BIGQUERY_URL}/sql`, { method: "POST", body: sql });
		if (!response.ok) throw new Error(await response.text());
		return response.json();
	};
	const found = await ask(
		`select table_name as one from exports.INFORMATION_SCHEMA.TABLES where table_name = '${table}'`,
	);
	if (found.length === 0) return null;
	// The API returns 1,000 rows at a time.
	const [all] = await ask(
		`select string_agg(cast(team_id as string)) as one from exports.\`${table}\``,
	);
	return (all?.one?.split(",") ?? []).map((team_id) => ({ team_id }));
}

/** A config for the tables of the Iceberg catalog, whose files are in the S3 server's bucket. */
export const ICEBERG = {
	catalog_uri: env.ICEBERG_URL,
	namespace: NAMESPACE,
	token: TOKEN,
	region: "auto",
	endpoint_url: env.S3_URL,
	...KEYS,
};

/** Asks a reader about a table, which is named t in the SQL. Null if there is no table. */
export async function askIceberg(
	reader: "pyiceberg" | "duckdb",
	table: string,
	sql: string,
): Promise<Record<string, unknown>[] | null> {
	const response = await fetch(`${env.ICEBERG_URL}/readers`, {
		method: "POST",
		body: JSON.stringify({ do: reader, table: `${NAMESPACE}.${table}`, sql }),
	});
	const text = await response.text();
	if (response.status === 404) return null;
	if (!response.ok) throw new Error(text);
	return JSON.parse(text);
}

/** Why tests with Iceberg are skipped; "" if its catalog and readers run. */
export const missingIceberg = async () =>
	(await missing("Iceberg's catalog", `${env.ICEBERG_URL}/v1/config`, {
		headers: { authorization: `Bearer ${TOKEN}` },
	})) || missing("Iceberg's readers", `${env.ICEBERG_URL}/readers`);

async function teamsIn(table: string) {
	const rows = (await askIceberg("pyiceberg", table, "select team_id from t")) ?? [];
	return sorted(rows.map(({ team_id }) => Number(team_id)));
}

/** For each type. The compiler asks for those that are missing. */
export const ADAPTERS: Record<Exclude<Type, "NoOp">, Adapter> = {
	S3: {
		start: RUNS,
		...inBucket(S3),
		at: (endpoint_url) => ({ endpoint_url }),
		rejected: {
			settings: { aws_secret_access_key: "wrong-secret" },
			words: `The secret of the access key is wrong. ${hostOf(env.S3_URL)} answered 403: "SignatureDoesNotMatch: `,
			secret: "wrong-secret",
		},
	},
	R2: { start: RUNS, ...inBucket(R2) },
	HTTP: {
		start: RUNS,
		config: { url: env.RECEIVER_URL, token: "token-of-nobody" },
		many: 3001,
		sharesRows: true,
		place() {
			const path = `/batches/${crypto.randomUUID()}`;
			const taken = async () =>
				(await received(path)).flatMap<{ team_id: number }>(({ text }) => JSON.parse(text).batch);
			return {
				to: (more) => opened("HTTP", { url: env.RECEIVER_URL + path, ...more }),
				names: async () => ((await taken()).length > 0 ? [path] : []),
				numbers: async () => sorted((await taken()).map(({ team_id }) => team_id)),
			};
		},
		at: (origin) => ({ url: `${origin}/` }),
		rejected: {
			settings: { url: `${env.RECEIVER_URL}/status/401` },
			words: "The receiver rejected the token, or requires one.",
			secret: "token-of-nobody",
		},
	},
	Postgres: {
		start: async () => {
			if (noPostgres) return noPostgres;
			await postgres.createRoles();
			return "";
		},
		config: postgres.config,
		...inTable(
			queryPostgres,
			(table_name, more) => postgres.to({ table_name, ...more }),
			postgres.fresh,
		),
		many: 12_000,
		hasOwnProtocol: true,
		at: (origin) => {
			const [, host, port] = /^http:\/\/(.+):(\d+)$/.exec(origin) ?? [];
			return { host, port: Number(port) };
		},
		rejected: {
			settings: { password: "wrong-password" },
			words: "The server rejects the credentials",
			secret: "wrong-password",
		},
	},
	ClickHouse: {
		start: () => missing("ClickHouse", `${env.CLICKHOUSE_URL}/ping`),
		config: CLICKHOUSE,
		...inTable(
			queryClickHouse,
			(table_name, more) => opened("ClickHouse", { table_name, ...more }),
			() => `t-${crypto.randomUUID()}`,
		),
		many: 30_000,
		at: (origin) => ({ url: `${origin}/` }),
		rejected: {
			settings: { user: "somebody", password: "wrong-password" },
			words: "The server rejects the credentials",
			secret: "wrong-password",
		},
	},
	AzureBlob: {
		start: async () => {
			await azure.createContainer();
			return "";
		},
		...inBucket(AzureBlob),
		at: (endpoint_url) => ({ endpoint_url }),
		rejected: {
			settings: { account_key: btoa("wrong-key") },
			words: "The account key is wrong.",
			secret: btoa("wrong-key"),
		},
	},
	GCS: {
		start: RUNS,
		...inBucket(GCS),
		at: (endpoint_url) => ({ endpoint_url }),
		rejected: {
			settings: { hmac_secret: "wrong-secret" },
			words: `hmac_secret is wrong. ${hostOf(env.GCS_URL)} answered 403: "SignatureDoesNotMatch: Access denied. The request signature we calculated does not match the signature you provided. Check your Google secret key and signing method."`,
			secret: "wrong-secret",
		},
	},
	BigQuery: {
		start: () =>
			missing("BigQuery", `${env.BIGQUERY_URL}/sql`, { method: "POST", body: "select 1 as one" }),
		config: BIGQUERY,
		...inTable(
			queryBigQuery,
			(table_id, more) => opened("BigQuery", { table_id, ...more }),
			() => `t-${crypto.randomUUID()}`,
		),
		many: 40_000,
		appearsAtEnd: true,
		at: (origin) => ({ token_uri: `${origin}/token`, endpoint_url: origin }),
		rejected: {
			settings: { client_email: "nobody@project.iam.gserviceaccount.com" },
			words: "belongs to another client_email",
			secret: env.BIGQUERY_PRIVATE_KEY,
		},
	},
	Iceberg: {
		start: missingIceberg,
		config: ICEBERG,
		many: 40_000,
		appearsAtEnd: true,
		place() {
			const table_name = `t-${crypto.randomUUID()}`;
			return {
				to: (more) => opened("Iceberg", { table_name, ...more }),
				numbers: () => teamsIn(table_name),
				// The table may be there, but it has no files.
				names: async () =>
					(await listS3(`warehouse/${NAMESPACE}/${table_name}/`)).filter(
						(key) => !key.endsWith(".metadata.json"),
					),
			};
		},
		at: (catalog_uri) => ({ catalog_uri }),
		rejected: {
			settings: { token: "token-of-somebody" },
			words: "The catalog rejects the credentials.",
			secret: "token-of-somebody",
		},
	},
};
