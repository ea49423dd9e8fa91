import { hiding } from "../../auth/secrets.ts";

/** How much of a server's own message an error shows (behaviour 11.2). */
const MAX_QUOTED_CHARACTERS = 300;

/** A server's own message, for an error text: without the secrets that it may repeat, shortened, as a sentence. */
export const quote = (secrets: string[], message: string) =>
	hiding(secrets)(message).slice(0, MAX_QUOTED_CHARACTERS).replace(/\.?$/, ".");
