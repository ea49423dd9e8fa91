import { createClient } from "@clickhouse/client-web";
import { hiding } from "../../auth/secrets.ts";
import { MOST_BYTES, MOST_ROWS, orderOf, typedRows, weight } from "./bounds.ts";
import type { Position, Selection, Source } from "./source.ts";
import { columnsForClickHouse } from "./sql.ts";

/** ClickHouse gives up by itself before the request does. */
const QUERY_SECONDS = 50;
const REQUEST_MS = 60_000;

type Access = {
	url: string;
	username: string;
	password: string;
	database: string;
};

/** A moment in a parameter, as precise as the columns are. */
const moment = (name: string) =>
	`parseDateTime64BestEffort({${name}:String}, 6, 'UTC')`;

/** The rows of ClickHouse's tables `events` and `persons`, which have the columns of D1's. */
export function clickhouse({
	url,
	username,
	password,
	database,
}: Access): Source {
	if (!URL.canParse(url)) throw new Error("CLICKHOUSE_URL is no address.");
	const hide = hiding([password]);
	const client = createClient({
		url,
		username,
		password,
		database,
		application: "tenantry",
		request_timeout: REQUEST_MS,
		keep_alive: { enabled: false },
		clickhouse_settings: {
			max_execution_time: QUERY_SECONDS,
			output_format_json_quote_64bit_integers: 0,
			output_format_json_quote_denormals: 0,
		},
	});

	/** The rows of a query about the selection's rows behind a position; where the query has them is up to it. */
	async function ask(
		sql: string,
		{ team_id, start, end, include_events, exclude_events }: Selection,
		after: Position | null,
		params: Record<string, unknown> = {},
	): Promise<unknown[][]> {
		const [at = start, key = ""] = after ?? [];
		try {
			const answer = await client.query({
				query: sql,
				format: "JSONCompactEachRow",
				query_params: {
					...params,
					team_id,
					at,
					key,
					end,
					include_events,
					exclude_events,
				},
				abort_signal: AbortSignal.timeout(REQUEST_MS),
			});
			return await answer.json<unknown[]>();
		} catch (error) {
			const why = error instanceof Error ? error.message : String(error);
			// It may quote what it was asked, and how.
			throw new Error(`ClickHouse: ${hide(why).slice(0, 500)}`);
		}
	}

	const rows = (selection: Selection) => {
		const { at, key } = orderOf(selection);
		const filter =
			selection.model === "events"
				? `and (empty({include_events:Array(String)}) or has({include_events:Array(String)}, event))
					and not has({exclude_events:Array(String)}, event)`
				: "";
		return `from ${selection.model}
			where team_id = {team_id:Int64} and ${at} >= ${moment("at")} and ${at} < ${moment("end")}
				and (${at}, toString(${key})) > (${moment("at")}, {key:String}) ${filter}`;
	};

	return {
		async count(selection) {
			const [[count] = []] = await ask(
				`select count() ${rows(selection)}`,
				selection,
				null,
			);
			return Number(count);
		},

		async page(selection, after) {
			const { fields } = selection;
			const { at, key } = orderOf(selection);
			const columns = columnsForClickHouse(fields);
			const found = await ask(
				`select toString(__at), __key, __found, ${fields.map((_, i) => `c${i}`).join(", ")}
				from (
					select *, row_number() over rows as __place, sum(__size) over rows as __total, count() over () as __found
					from (
						select ${at} as __at, toString(${key}) as __key, ${weight(fields, (column) => `length(${column})`)} as __size,
							${columns.sql}
						${rows(selection)} order by ${at}, __key limit ${MOST_ROWS + 1}
					)
					window rows as (order by __at, __key rows unbounded preceding)
				)
				where __place <= ${MOST_ROWS} and (__place = 1 or __total <= ${MOST_BYTES})
				order by __place`,
				selection,
				after,
				columns.params,
			);
			const [lastAt, lastKey, all] = found.at(-1) ?? [];
			return {
				...typedRows(
					fields,
					found.map(([, , , ...row]) => row),
				),
				next:
					Number(all ?? 0) > found.length
						? [String(lastAt), String(lastKey)]
						: null,
			};
		},
	};
}
