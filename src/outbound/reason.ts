import { DrizzleQueryError } from "drizzle-orm";

const MAX_ERROR_LENGTH = 2000;

/** Returns the message of an error, without the SQL and the values of a statement. */
const messageOf = (error: unknown): string => {
	if (error instanceof DrizzleQueryError) return messageOf(error.cause);
	return error instanceof Error ? error.message || error.name : String(error);
};

export const reason = (error: unknown) => messageOf(error).slice(0, MAX_ERROR_LENGTH);

/** Adds a full stop to a text that doesn't end with punctuation. */
export const sentence = (text: string) => (/[.!?]$/.test(text) ? text : `${text}.`);
