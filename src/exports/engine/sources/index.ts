import { sendRequest } from "../../../outbound/fetch.ts";
import { clickhouse } from "./clickhouse.ts";
import { d1 } from "./d1.ts";
import type { Source } from "./source.ts";

/** @throws if EVENT_SOURCE isn't the name of a source */
export function sourceOf(env: Env): Source {
	switch (env.EVENT_SOURCE) {
		case "d1":
			return d1(env.DB);
		case "clickhouse":
			return clickhouse({
				url: env.CLICKHOUSE_URL,
				username: env.CLICKHOUSE_USER,
				password: env.CLICKHOUSE_PASSWORD ?? "",
				database: env.CLICKHOUSE_DATABASE,
				fetch: (url, init) => sendRequest(env, new Request(url, init)),
			});
		default:
			throw new Error(`EVENT_SOURCE must be "d1" or "clickhouse", not "${env.EVENT_SOURCE}".`);
	}
}
