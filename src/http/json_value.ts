import * as z from "zod";
import { MAX_NUMBER_LENGTH } from "../lib/lossless_json.ts";
import { issue, whyUnstorable } from "./fields.ts";

/** How deeply JSON can nest. D1 and the databases of exports can read much deeper JSON. */
const MAX_DEPTH = 100;

const NOT_A_DOUBLE = "Ensure this number is one that a double can hold, of at most 400 characters.";

const ROUNDED =
	"Ensure this number is one that a double can hold without rounding, of at most 400 characters. Send others as strings.";

/** Returns why a number, such as one beyond a double, can't be stored exactly, if so. */
const whyInvalidNumber = (source: string) =>
	source.length > MAX_NUMBER_LENGTH || !isInRange(source) ? NOT_A_DOUBLE : undefined;

/** Whether the number neither overflows a double nor underflows to zero. */
const isInRange = (source: string) =>
	Number.isFinite(Number(source)) && (Number(source) !== 0 || !/^[^e]*[1-9]/i.test(source));

/** Returns why a JSON value of `parseExact` or `parseUnrounded` can't be stored, if so. */
export function whyInvalid(value: unknown, depth = 0): string | undefined {
	if (typeof value === "string") return whyUnstorable(value);
	if (typeof value === "number") return Number.isFinite(value) ? undefined : ROUNDED;
	if (JSON.isRawJSON(value)) return whyInvalidNumber(value.rawJSON);
	if (typeof value !== "object" || value === null) return undefined;
	if (depth === MAX_DEPTH) return `Ensure this value is nested at most ${MAX_DEPTH} levels deep.`;
	for (const [key, inner] of Object.entries(value)) {
		const why = whyUnstorable(key) ?? whyInvalid(inner, depth + 1);
		if (why) return why;
	}
	return undefined;
}

/** Any JSON value that can be stored. */
export const json = () =>
	z.unknown().check(({ value, issues }) => {
		const why = whyInvalid(value);
		if (why) issues.push(issue(value, "invalid_input", why));
	});
