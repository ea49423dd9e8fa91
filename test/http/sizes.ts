export const KIB = 1024;

export const bytesOf = (value: unknown) => new TextEncoder().encode(JSON.stringify(value)).length;

/** A text of exactly so many bytes in UTF-8. */
export const textOf = (bytes: number, character = "é") => {
	const size = new TextEncoder().encode(character).length;
	return character.repeat(bytes / size) + "x".repeat(bytes % size);
};
