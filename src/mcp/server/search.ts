import MiniSearch, { type SearchOptions } from "minisearch";
import type { Caller } from "./caller.ts";
import { type Operation, operationsOf } from "./operations.ts";
import { saidFor, stemsOf } from "./words.ts";

/** The fields of an operation whose words count with their synonyms. */
const WITH_SYNONYMS = ["operationId", "summary", "names"];

/** Shorter words aren't taken for the beginning of others. */
const MIN_PREFIX = 4;

/** Finds operations by words, as people say them (docs/mcp.md#tools). Words may be missing. */
class Search {
	readonly #operations: Map<string, Operation>;
	readonly #index = new MiniSearch<Operation & { names: string }>({
		idField: "operationId",
		fields: ["operationId", "summary", "names", "tag", "path", "description"],
		tokenize: stemsOf,
		processTerm: (word, field = "") => [
			word,
			...(WITH_SYNONYMS.includes(field) ? saidFor(word) : []),
		],
		searchOptions: {
			processTerm: (word) => word,
			boost: { operationId: 2, summary: 2, names: 2, description: 0.3 },
			// Whoever doesn't know where to look begins with a list.
			boostDocument: (operationId) => (String(operationId).startsWith("list") ? 1.1 : 1),
			prefix: (word) => word.length >= MIN_PREFIX,
			weights: { prefix: 0.2, fuzzy: 0.45 },
		},
	});

	constructor(operations: Operation[]) {
		this.#operations = new Map(operations.map((operation) => [operation.operationId, operation]));
		this.#index.addAll(
			operations.map((operation) => ({
				...operation,
				// Whoever wants to delete something doesn't look for the lists of what is deleted.
				names: [...operation.fields, ...operation.query.filter((name) => name !== "deleted")].join(
					" ",
				),
			})),
		);
	}

	/** Returns the operations that have words of a text or their synonyms, best first. */
	find(text: string): Operation[] {
		return this.#search(text);
	}

	/** Does the same for words that are spelled almost like those of the text. */
	guess(text: string): Operation[] {
		return this.#search(text, { fuzzy: 0.35 });
	}

	#search(text: string, options?: SearchOptions) {
		const results = this.#index.search(text, options);
		return results.flatMap(({ id }) => this.#operations.get(id) ?? []);
	}
}

/** The search of all operations. It is the same for every caller. */
let shared: Search | undefined;

export async function searchOf(caller: Caller): Promise<Search> {
	shared ??= new Search(await operationsOf(caller));
	return shared;
}
