/** Texts for searches. */
import fc from "fast-check";

/**
 * Letters with and without case, some of which fold to others, and characters that are special in
 * LIKE.
 */
const LETTERS = Array.from(
	"aAbBkKsSßẞςσΣıIİiµμΜÅåΩωǅǆǄöÖğĞéÉдДაᲐᏸᏰ𐐨𐐀東京 '\"*%_-.:^()+ᾈᾀθ\u017f\u03d1\u03f4\u2126\u212a\u212b\u0301\u0308",
);

/** Generates random texts of some letters. */
export const text = (maxLength: number) =>
	fc
		.array(fc.constantFrom(...LETTERS), { minLength: 1, maxLength })
		.map((letters) => letters.join(""));

/** Returns search terms: each letter, and random texts. Query parameters are trimmed. */
export const needles = (numRuns: number) =>
	[
		...new Set(
			[...LETTERS, ...fc.sample(text(5), { numRuns, seed: 3 })].map((each) => each.trim()),
		),
	].filter((needle) => needle !== "");
