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

/** Returns how many code units the element matches at this index; 0 if it doesn't match. */
function matchedAt(text: string, at: number, element: Element | undefined) {
	if (at >= text.length) return 0;
	if (element === ANY_CHARACTER) return (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
	return typeof element === "string" && text.startsWith(element, at) ? element.length : 0;
}

/**
 * Compiles a pattern of SQL's LIKE, which must match the whole text: `%` is any text, `_` is any
 * character, and a backslash escapes the next character. It is case-sensitive. The number of steps
 * is at most the product of both lengths, because after a mismatch only the last `%` is extended.
 */
export function like(pattern: string): (text: string) => boolean {
	const elements = elementsOf(pattern);
	return (text) => {
		let [at, next] = [0, 0];
		/** Where to continue after a mismatch: after the last `%`, at this index in the text. */
		let retry: { at: number; next: number } | null = null;
		while (at < text.length || next < elements.length) {
			if (elements[next] === ANY_TEXT) {
				next += 1;
				retry = { at, next };
				continue;
			}
			const matched = matchedAt(text, at, elements[next]);
			if (matched > 0) {
				at += matched;
				next += 1;
			} else if (retry && retry.at < text.length) {
				retry.at += 1;
				({ at, next } = retry);
			} else return false;
		}
		return true;
	};
}
