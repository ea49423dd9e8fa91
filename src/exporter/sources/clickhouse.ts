import { createClient } from "@clickhouse/client-web";
import { hiding } from "../../auth/secrets.ts";
import { kindOf } from "../../batch_exports/query.ts";
import type { Row } from "../rows.ts";
import { MOST_BYTES, MOST_ROWS, orderOf, weight } from "./bounds.ts";
import { queried } from "./queried.ts";
import type { Filter, Position, Scan, Source } from "./source.ts";

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

/** A column's value as JSON has it. */
function selected(name: string) {
	switch (kindOf({ type: "column", name })) {
		case "integer":
			return `toFloat64(${name})`;
		case "json":
			return `nullIf(${name}, '')`;
		case "timestamp":
			return `concat(replaceOne(toString(toDateTime64(${name}, 3, 'UTC')), ' ', 'T'), 'Z')`;
		default:
			return `toString(${name})`;
	}
}

/** What filters ask for, and the parameters of that. */
function conditions(filters: Filter[]) {
	const params: Record<string, string | string[]> = {};
	const bound = (value: string | string[]) => {
		const name = `f${Object.keys(params).length}`;
		params[name] = value;
		return name;
	};
	const sql = filters.map((filter) => {
		const { column } = filter;
		if ("texts" in filter)
			return `and ${filter.negated ? "not " : ""}has({${bound(filter.texts)}:Array(String)}, toString(${column})) and ${column} is not null`;
		const { from, before } = filter;
		return `${from === null ? "" : `and ${column} >= ${moment(bound(from))}`} ${before === null ? "" : `and ${column} < ${moment(bound(before))}`}`;
	});
	return { sql: sql.join(" "), params };
}

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

	/** The rows of a query about the scan's rows behind a position; where the query has them is up to it. */
	async function ask(
		sql: string,
		scan: Scan,
		after: Position | null,
	): Promise<Row[]> {
		const { team_id, start, end, include_events, exclude_events } = scan;
		const [at = start, key = ""] = after ?? [];
		try {
			const answer = await client.query({
				query: sql,
				format: "JSONCompactEachRow",
				query_params: {
					...conditions(scan.filters).params,
					team_id,
					at,
					key,
					end,
					include_events,
					exclude_events,
				},
				abort_signal: AbortSignal.timeout(REQUEST_MS),
			});
			return await answer.json<Row>();
		} catch (error) {
			const why = error instanceof Error ? error.message : String(error);
			// It may quote what it was asked, and how.
			throw new Error(`ClickHouse: ${hide(why).slice(0, 500)}`);
		}
	}

	const rows = (scan: Scan) => {
		const { at, key } = orderOf(scan);
		const filter =
			scan.model === "events"
				? `and (empty({include_events:Array(String)}) or has({include_events:Array(String)}, event))
					and not has({exclude_events:Array(String)}, event)`
				: "";
		return `from ${scan.model}
			where team_id = {team_id:Int64} and ${at} >= ${moment("at")} and ${at} < ${moment("end")}
				and (${at}, toString(${key})) > (${moment("at")}, {key:String}) ${filter} ${conditions(scan.filters).sql}`;
	};

	return queried({
		async count(scan) {
			const [[count] = []] = await ask(
				`select count() ${rows(scan)}`,
				scan,
				null,
			);
			return Number(count);
		},

		async page(scan, after) {
			const { columns } = scan;
			const { at, key } = orderOf(scan);
			const found = await ask(
				`select toString(__at), __key, __found, ${columns.map((_, i) => `c${i}`).join(", ")}
				from (
					select *, row_number() over rows as __place, sum(__size) over rows as __total, count() over () as __found
					from (
						select ${at} as __at, toString(${key}) as __key, ${weight(scan, (column) => `length(${column})`)} as __size,
							${columns.map((name, i) => `${selected(name)} as c${i}`).join(", ")}
						${rows(scan)} order by ${at}, __key limit ${MOST_ROWS + 1}
					)
					window rows as (order by __at, __key rows unbounded preceding)
				)
				where __place <= ${MOST_ROWS} and (__place = 1 or __total <= ${MOST_BYTES})
				order by __place`,
				scan,
				after,
			);
			const [lastAt, lastKey, all] = found.at(-1) ?? [];
			return {
				rows: found.map(([, , , ...row]) => row),
				next:
					Number(all ?? 0) > found.length
						? [String(lastAt), String(lastKey)]
						: null,
			};
		},
	});
}
