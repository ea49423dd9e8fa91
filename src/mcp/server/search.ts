import type { Caller } from "./caller.ts";
import { type Operation, operationsOf } from "./operations.ts";
import { FILLERS, SYNONYMS } from "./synonyms.ts";

/** How much a word of an operation counts, by where it is. */
const inTexts = (operation: Operation): [text: string, weight: number][] => [
	[operation.operationId, 3],
	[operation.summary, 3],
	[operation.fields.join(" "), 2],
	[operation.tag, 1],
	[operation.path, 1],
	[operation.description, 0.5],
];

/** How much a word counts that only starts with a word of the search, or the reverse. */
const PREFIX_WEIGHT = 0.5;
const MIN_PREFIX = 4;

/** The weight of a word with which it counts half as much as one with the largest weight. */
const HALF_WEIGHT = 4;

/** Returns what the forms of a word have in common: `invit` for invites, invited and inviting. */
const stem = (word: string) =>
	word
		.replace(/(?<=..)(?:ie[sd]|y)$/, "i")
		.replace(/(?<=.[^su])s$/, "")
		.replace(/(?<=...)(?:ed|ing)$/, "")
		.replace(/([bdgmnprt])\1$/, "$1")
		.replace(/(?<=..)e$/, "");

/** Returns the words of a text, also those of names such as `updateMember`. */
const split = (text: string) =>
	text
		.replace(/(?<=[a-z])(?=[A-Z])/g, " ")
		.toLowerCase()
		.split(/[^a-z0-9]+/)
		.filter((word) => word !== "");

const fillers = new Set(split(FILLERS));

const stemsOf = (text: string) =>
	split(text)
		.filter((word) => !fillers.has(word))
		.map(stem);

const synonyms = SYNONYMS.map(([said, meant]) => ({ said: stemsOf(said), meant: stemsOf(meant) }));

/** Returns the letters of a word, and its pairs of letters. */
const partsOf = (word: string) =>
	Array.from(word, (letter, i) => [letter, word.slice(i, i + 2)]).flat();

/** Returns how similar two words are, from 0 to 1: by the parts that they share (Dice). */
function similarity(one: string, other: string) {
	const [parts, others] = [partsOf(one), partsOf(other)];
	const common = parts.filter((part) => others.includes(part));
	return (2 * common.length) / (parts.length + others.length);
}

/** The similarity of a misspelled word to the word that was meant. */
const MIN_SIMILARITY = 0.6;

/** Words with weights. */
type Weights = Map<string, number>;

const raise = (weights: Weights, word: string, weight: number) =>
	weights.set(word, Math.max(weights.get(word) ?? 0, weight));

/** Finds operations by words, as people say them (docs/mcp.md#tools). Words may be missing. */
class Search {
	readonly #entries: { operation: Operation; words: Weights }[];
	/** How much each known word says: the fewer operations have it, the more. */
	readonly #information: Weights;

	constructor(operations: Operation[]) {
		this.#entries = operations.map((operation) => {
			const words: Weights = new Map();
			for (const [text, weight] of inTexts(operation))
				for (const word of new Set(stemsOf(text))) words.set(word, (words.get(word) ?? 0) + weight);
			return { operation, words };
		});
		const having = Map.groupBy(
			this.#entries.flatMap(({ words }) => [...words.keys()]),
			(word) => word,
		);
		this.#information = new Map(
			having
				.entries()
				.map(([word, { length }]) => [word, Math.log(1 + operations.length / length)]),
		);
	}

	/** Returns the operations that have words of a text or their synonyms, best first. */
	find(text: string): Operation[] {
		return this.#rank(stemsOf(text));
	}

	/** Does the same for the known words that are spelled most like those of the text. */
	guess(text: string): Operation[] {
		const known = [...this.#information.keys()];
		return this.#rank(
			stemsOf(text).flatMap((word) => {
				const similarities = known.map((other) => similarity(word, other));
				const highest = Math.max(...similarities);
				return highest < MIN_SIMILARITY ? [] : known.filter((_, i) => similarities[i] === highest);
			}),
		);
	}

	#rank(words: string[]) {
		const wanted = this.#expand(words);
		return this.#entries
			.map(({ operation, words }) => ({ operation, score: this.#score(wanted, words) }))
			.filter(({ score }) => score > 0)
			.sort((a, b) => b.score - a.score)
			.map(({ operation }) => operation);
	}

	/** Adds synonyms and words with the same beginning. */
	#expand(words: string[]) {
		const wanted: Weights = new Map();
		for (const word of words) {
			raise(wanted, word, 1);
			const meant = synonyms.flatMap(({ said, meant }) => (said.includes(word) ? meant : []));
			for (const other of meant) raise(wanted, other, 1 / Math.sqrt(meant.length));
			for (const other of this.#information.keys()) {
				const [short = "", long = ""] = word.length < other.length ? [word, other] : [other, word];
				if (short.length >= MIN_PREFIX && long.startsWith(short))
					raise(wanted, other, PREFIX_WEIGHT);
			}
		}
		return wanted;
	}

	/** A sum over the words, as in BM25. */
	#score(wanted: Weights, words: Weights) {
		let score = 0;
		for (const [word, share] of wanted) {
			const weight = words.get(word) ?? 0;
			const information = this.#information.get(word) ?? 0;
			score += (share * information * weight) / (weight + HALF_WEIGHT);
		}
		return score;
	}
}

/** The search of all operations. It is the same for every caller. */
let shared: Search | undefined;

export async function searchOf(caller: Caller): Promise<Search> {
	shared ??= new Search(await operationsOf(caller));
	return shared;
}
