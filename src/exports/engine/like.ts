/** One element of a pattern: a character, ANY_CHARACTER or ANY_TEXT. */
type Element = string | symbol;

const ANY_CHARACTER = Symbol("_");
const ANY_TEXT = Symbol("%");

function elementsOf(pattern: string): Element[] {
	const elements: Element[] = [];
	let isEscaped = false;
	for (const character of pattern) {
		if (!isEscaped && character === "\\") {
			isEscaped = true;
			continue;
		}
		if (!isEscaped && character === "%") elements.push(ANY_TEXT);
		else if (!isEscaped && character === "_") elements.push(ANY_CHARACTER);
		else elements.push(character);
		isEscaped = false;
	}
	if (isEscaped) elements.push("\\");
	return elements;
}

/** Sets a bit in a set of 32-bit words. */
const set = (words: Uint32Array, bit: number) => {
	words[bit >>> 5] = (words[bit >>> 5] ?? 0) | (1 << (bit & 31));
};

/**
 * Compiles a pattern of SQL's LIKE, which must match the whole text: `%` is any text, `_` is any
 * character, and a backslash escapes the next character. It is case-sensitive.
 *
 * It reads the text once, and keeps the set of positions in the pattern that it can have reached,
 * as bits (the bitap algorithm, extended by `%`). So each character of the text takes one step for
 * every 32 characters of the pattern, whatever both contain.
 */
export function like(pattern: string): (text: string) => boolean {
	const elements = elementsOf(pattern);
	const length = elements.filter((element) => element !== ANY_TEXT).length;
	const size = (length >>> 5) + 1;
	/** The positions at which a `%` stands, which any character leaves as they are. */
	const open = new Uint32Array(size);
	/** The positions before a `_`, and before each other character. */
	const any = new Uint32Array(size);
	const before = new Map<string, Uint32Array>();
	let at = 0;
	for (const element of elements) {
		if (element === ANY_TEXT) set(open, at);
		else if (element === ANY_CHARACTER) set(any, at++);
		else if (typeof element === "string") {
			const positions = before.get(element) ?? new Uint32Array(size);
			set(positions, at++);
			before.set(element, positions);
		}
	}
	for (const positions of before.values())
		for (const [i, word] of any.entries()) positions[i] = (positions[i] ?? 0) | word;
	return (text) => {
		const reached = new Uint32Array(size);
		set(reached, 0);
		for (const character of text) {
			const matching = before.get(character) ?? any;
			let carry = 0;
			let isAlive = 0;
			for (let i = 0; i < size; i++) {
				const word = reached[i] ?? 0;
				const moved = word & (matching[i] ?? 0);
				reached[i] = (word & (open[i] ?? 0)) | (moved << 1) | carry;
				carry = moved >>> 31;
				isAlive |= reached[i] ?? 0;
			}
			if (isAlive === 0) return false;
		}
		return ((reached[length >>> 5] ?? 0) & (1 << (length & 31))) !== 0;
	};
}
