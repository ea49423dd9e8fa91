/** The seven exports of the fire test, and how their output is saved as files. */
import { createWriteStream, mkdirSync } from "node:fs";
import { finished } from "node:stream/promises";
import { AwsClient } from "aws4fetch";
import pg from "pg";
import { KEYS } from "../../test/support/bucket.ts";
import { NAMESPACE, TOKEN } from "../../test/support/iceberg.ts";
import { PASSWORD } from "../../test/support/postgres.ts";
import { save } from "../../test/support/r2.ts";

export const TABLE = "events";

/** How many rows of PostgreSQL are in memory at once. */
const ROWS = 5_000;

type Peers = {
	s3: string;
	/** The port of a PostgreSQL server. */
	postgres: string;
	receiver: string;
	/** The URL of Iceberg's catalog. */
	catalog: string;
};

export type Output = { name: string; destination: object };

/** @returns the outputs, whose names are also those of their folders */
export function outputs({ s3, postgres, receiver, catalog }: Peers): Output[] {
	const bucket = {
		bucket_name: "exports",
		region: "auto",
		endpoint_url: s3,
		...KEYS,
	};
	return [
		{
			name: "s3-lines",
			destination: {
				type: "S3",
				config: { ...bucket, prefix: "s3-lines", compression: "gzip" },
			},
		},
		{
			name: "s3-parquet",
			destination: {
				type: "S3",
				config: {
					...bucket,
					prefix: "s3-parquet",
					file_format: "Parquet",
					compression: "zstd",
				},
			},
		},
		{
			name: "s3-files",
			destination: {
				type: "S3",
				config: { ...bucket, prefix: "s3-files", max_file_size_mb: 1 },
			},
		},
		{ name: "r2", destination: { type: "R2", config: { prefix: "r2" } } },
		{
			name: "postgres",
			destination: {
				type: "Postgres",
				config: { ...database(postgres), table_name: TABLE },
			},
		},
		{
			name: "http",
			destination: { type: "HTTP", config: { url: receiver } },
		},
		{
			name: "iceberg",
			destination: {
				type: "Iceberg",
				config: {
					...KEYS,
					...{ catalog_uri: catalog, token: TOKEN, namespace: NAMESPACE, table_name: TABLE },
					...{ endpoint_url: s3, region: "auto" },
				},
			},
		},
	];
}

const database = (port: string) => ({
	host: "127.0.0.1",
	port: Number(port),
	user: "owner",
	password: PASSWORD,
	database: "postgres",
});

/**
 * Creates a table that keeps JSON as it was sent. An export would create jsonb columns, which
 * reformat it.
 */
export async function createTable(port: string) {
	const client = new pg.Client(database(port));
	await client.connect();
	await client.query(`create table ${TABLE} (uuid uuid primary key, event text, distinct_id text, person_id uuid,
		properties json, person_properties json, elements_chain text, timestamp timestamptz, created_at timestamptz,
		_inserted_at timestamptz, team_id bigint)`);
	await client.end();
}

/**
 * Saves the rows of PostgreSQL as JSON lines, with the same order of columns as the other outputs.
 */
export async function savePostgres(port: string, folder: string) {
	mkdirSync(folder, { recursive: true });
	const file = createWriteStream(`${folder}/events.jsonl`);
	const client = new pg.Client(database(port));
	await client.connect();
	await client.query(`begin; declare everything cursor for
		select uuid, event, distinct_id, person_id, properties::text, person_properties::text, elements_chain, timestamp from ${TABLE}`);
	for (;;) {
		const { rows } = await client.query(`fetch ${ROWS} from everything`);
		if (rows.length === 0) break;
		for (const row of rows) {
			const { properties, person_properties, ...rest } = row;
			const { elements_chain, timestamp, ...head } = rest;
			const tail = { elements_chain, timestamp };
			file.write(
				`${JSON.stringify(head).slice(0, -1)},"properties":${properties},"person_properties":${person_properties},${JSON.stringify(tail).slice(1)}\n`,
			);
		}
	}
	await client.end();
	file.end();
	await finished(file);
}

const encoded = (key: string) => key.split("/").map(encodeURIComponent).join("/");

/** Saves all objects of the S3 bucket, each at its key below the folder. */
export async function saveBucket(url: string, folder: string) {
	const client = new AwsClient({
		accessKeyId: KEYS.aws_access_key_id,
		secretAccessKey: KEYS.aws_secret_access_key,
		service: "s3",
		region: "auto",
	});
	async function get(path: string) {
		const response = await client.fetch(`${url}/exports${path}`);
		if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
		return response;
	}
	let after = "";
	for (;;) {
		const list = await (await get(`?list-type=2&start-after=${encodeURIComponent(after)}`)).text();
		const keys = [...list.matchAll(/<Key>([^<]*)<\/Key>/g)].map(([, key = ""]) => key);
		for (const key of keys)
			save(folder, key, new Uint8Array(await (await get(`/${encoded(key)}`)).arrayBuffer()));
		if (!list.includes("<IsTruncated>true</IsTruncated>")) return;
		after = keys.at(-1) ?? "";
	}
}
