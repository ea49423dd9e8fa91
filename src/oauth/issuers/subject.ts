/*
 * Subjects are compared exactly. A `*` at the end stands for any text, and can only follow two parts
 * that end with `:` or `/`. So `repo:owner/*` is a subject, but `repo:*`, which would be everybody
 * who has an account at the issuer, and `repo:owner*`, which includes other owners, are not.
 */

const SEPARATORS = /[:/]/;

/** The fewest parts before a `*`. */
const MIN_PARTS = 2;

/** Whether a text can be the subject of a trusted issuer. */
export function isSubject(text: string) {
	const start = text.indexOf("*");
	if (start === -1) return true;
	const parts = text.slice(0, start).split(SEPARATORS);
	const isAtEnd = start === text.length - 1 && parts.at(-1) === "";
	return isAtEnd && parts.filter((part) => part !== "").length >= MIN_PARTS;
}

/** Whether the subject of a token is the trusted one. */
export const matches = (trusted: string, subject: string) =>
	trusted.endsWith("*") ? subject.startsWith(trusted.slice(0, -1)) : subject === trusted;
