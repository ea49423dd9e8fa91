import { createClient } from "@clickhouse/client-web";
import { redactor } from "../../../../keys/secrets.ts";
import type { Row } from "../../../query/rows.ts";
import { parseRows } from "./batches.ts";

/** Shorter than the request's timeout, so that ClickHouse itself gives up first. */
const QUERY_SECONDS = 50;
const REQUEST_TIMEOUT_MS = 60_000;

export type Access = {
	url: string;
	username: string;
	password: string;
	database: string;
	/** Sends the requests. By default, that of the runtime. */
	fetch?: typeof globalThis.fetch;
};

type Params = Record<string, unknown>;

export type Client = ReturnType<typeof connect>;

/** Returns the functions that send queries to ClickHouse. Connects when the first query is sent. */
export function connect({ url, username, password, database, fetch }: Access) {
	if (!URL.canParse(url)) throw new Error("CLICKHOUSE_URL is not a valid URL.");
	const hide = redactor([password]);
	const client = createClient({
		url,
		username,
		password,
		database,
		...(fetch && { fetch }),
		request_timeout: REQUEST_TIMEOUT_MS,
		keep_alive: { enabled: false },
		clickhouse_settings: {
			output_format_json_quote_64bit_integers: 0,
			output_format_json_quote_denormals: 0,
		},
	});

	/** Yields the rows of a query, in batches, as they arrive. */
	async function* ask(
		sql: string,
		params: Params,
		max_execution_time = QUERY_SECONDS,
	): AsyncGenerator<Row[]> {
		try {
			const { stream } = await client.exec({
				query: `${sql} format JSONCompactEachRow`,
				query_params: params,
				clickhouse_settings: { max_execution_time },
			});
			yield* parseRows(stream);
		} catch (error) {
			const message = error instanceof Error ? error.message : String(error);
			// The message may quote the request.
			throw new Error(`ClickHouse: ${hide(message).slice(0, 500)}`);
		}
	}

	const askAll = async (sql: string, params: Params) =>
		(await Array.fromAsync(ask(sql, params))).flat();

	return { ask, askAll };
}
