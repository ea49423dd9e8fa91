import type { CallToolResult } from "@modelcontextprotocol/server";
import type { ApiResponse } from "./caller.ts";
import { isFeed, isList, type Operation, type Parameters } from "./operations.ts";

/** The maximum length of the JSON of a result, so that it leaves room in a model's context. */
const MAX_CHARACTERS = 50_000;

/** Returns a tool's result, as structured content and as text. */
export const result = (content: object, isError = false): CallToolResult => ({
	content: [{ type: "text", text: JSON.stringify(content) }],
	structuredContent: { ...content },
	...(isError && { isError }),
});

/** Returns the result for a request that the API rejected, with its error. */
export function rejected({ status, headers, data }: ApiResponse): CallToolResult {
	const seconds = headers.get("retry-after");
	return result(
		{ status, error: data, ...(seconds !== null && { retry_after_seconds: Number(seconds) }) },
		true,
	);
}

/** Returns a part of a long response, `from` a position in characters on. */
export function bounded(data: unknown, from = 0): object {
	const text = typeof data === "string" ? data : JSON.stringify(data);
	if (from === 0 && text.length <= MAX_CHARACTERS) return { data };
	const end = from + MAX_CHARACTERS;
	const hint =
		end < text.length
			? `The response has ${text.length} characters. Continue with "from": ${end}.`
			: `This is the end of the response, which has ${text.length} characters.`;
	return { part: text.slice(from, end), hint };
}

type Page = { next: string | null; previous?: string | null; results: unknown[] };

const isPage = (data: unknown): data is Page =>
	typeof data === "object" &&
	data !== null &&
	"results" in data &&
	Array.isArray(data.results) &&
	"next" in data;

/** Returns the first of `items` whose JSON fits into `room` characters. */
function fitting(items: unknown[], room: number) {
	let left = room;
	const end = items.findIndex((item) => {
		left -= JSON.stringify(item).length + 1;
		return left < 0;
	});
	return end < 0 ? items : items.slice(0, end);
}

/** Returns the parameters of the next page, from its URL. */
function parametersOf(address: string, parameters: Parameters): Parameters {
	const { searchParams } = new URL(address);
	const place = [...searchParams].filter(([name]) =>
		["limit", "offset", "cursor", "after"].includes(name),
	);
	return { ...parameters, ...Object.fromEntries(place) };
}

/**
 * Returns the result of a read. For a page, it has as many results as fit, and the arguments for
 * the next ones.
 * @param from where to start, in characters, if the response is too long and isn't a page
 */
export function readResult(
	operation: Operation,
	parameters: Parameters,
	data: unknown,
	from?: number,
): object {
	if (!isList(operation) || !isPage(data) || from !== undefined) return bounded(data, from);
	const { next, previous: _, results, ...fields } = data;
	const kept = fitting(results, MAX_CHARACTERS - JSON.stringify(fields).length);
	if (kept.length === 0 && results.length > 0) return bounded(data);
	const { operationId } = operation;
	if (kept.length === results.length) {
		const more = next && { operationId, parameters: parametersOf(next, parameters) };
		return { data: { ...fields, results }, next: more };
	}
	const { cursor: _cursor, ...rest } = parameters;
	const place = isFeed(operation)
		? { after: idOf(kept.at(-1)) }
		: { offset: Number(parameters.offset ?? 0) + kept.length };
	return {
		data: { ...fields, results: kept, ...(isFeed(operation) && place) },
		next: { operationId, parameters: { ...rest, ...place } },
		hint: "The page is too long for one result. next has the arguments for the rest of it.",
	};
}

const idOf = (item: unknown) =>
	typeof item === "object" && item !== null && "id" in item ? item.id : undefined;
