/** The words of texts, for searches of operations and of the documentation (build/docs/texts.ts). */
import { FILLERS, SYNONYMS } from "./synonyms.ts";

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

export const stemsOf = (text: string) =>
	split(text)
		.filter((word) => !fillers.has(word))
		.map(stem);

/** The words that people use, by the word that they mean. */
const byMeant = Map.groupBy(
	SYNONYMS.flatMap(([said, meant]) =>
		stemsOf(meant).flatMap((meant) => stemsOf(said).map((said) => ({ said, meant }))),
	),
	({ meant }) => meant,
);

/** Returns the words that people use instead of a word. */
export const saidFor = (word: string) => (byMeant.get(word) ?? []).map(({ said }) => said);
