/** Returns the lines of a text that aren't empty, trimmed. */
export const linesOf = (text: string, separator: string | RegExp = "\n") =>
	text
		.split(separator)
		.map((line) => line.trim())
		.filter((line) => line !== "");
