import * as z from "zod";
import { issue, moment, rawText, uuid, whyUnstorable } from "../http/fields.ts";
import { documentAs } from "../http/router.ts";

/** How deep JSON may nest: far less than what the destinations' databases can read. */
const MAX_DEPTH = 100;

const MAX_NUMBER_LENGTH = 400;

/**
 * Why a number can't be stored as it was written; undefined if it can. Databases reject or change numbers outside the
 * range of a double.
 */
const whyInvalidNumber = (source: string) =>
	source.length > MAX_NUMBER_LENGTH || !isInRange(source)
		? "Ensure this number is one that a double can hold, of at most 400 characters."
		: undefined;

/** Whether the number doesn't overflow a double, and doesn't underflow to zero. */
const isInRange = (source: string) =>
	Number.isFinite(Number(source)) && (Number(source) !== 0 || !/^[^e]*[1-9]/i.test(source));

/** Why a JSON value can't be stored; undefined if it can. */
function whyInvalid(value: unknown, depth = 0): string | undefined {
	if (typeof value === "string") return whyUnstorable(value);
	if (JSON.isRawJSON(value)) return whyInvalidNumber(value.rawJSON);
	if (typeof value !== "object" || value === null) return undefined;
	if (depth === MAX_DEPTH) return `Ensure this value is nested at most ${MAX_DEPTH} levels deep.`;
	for (const [key, inner] of Object.entries(value)) {
		const why = whyUnstorable(key) ?? whyInvalid(inner, depth + 1);
		if (why) return why;
	}
	return undefined;
}

/** A JSON object whose numbers keep every digit. It isn't a record of zod, which drops the key `__proto__`. */
const dictionary = () =>
	z
		.unknown()
		.check(({ value, issues }) => {
			if (
				typeof value !== "object" ||
				value === null ||
				Array.isArray(value) ||
				JSON.isRawJSON(value)
			)
				issues.push({
					code: "invalid_type",
					expected: "record",
					input: value,
				});
			else {
				const why = whyInvalid(value);
				if (why) issues.push(issue(value, "invalid_input", why));
			}
		})
		.meta({ type: "object" });

/** An event (docs/exports.md#events). */
export const event = z.object({
	uuid: uuid().optional(),
	event: rawText(400).min(1),
	distinct_id: rawText(400).min(1),
	person_id: uuid().nullable().optional(),
	properties: dictionary().optional(),
	person_properties: dictionary().nullable().optional(),
	elements_chain: rawText().optional(),
	timestamp: moment().optional(),
});

/** The list up to the first invalid event: zod would collect the issues of all, possibly a million. */
function firstInvalid(list: unknown[]) {
	const first = list.findIndex((item) => !event.safeParse(item).success);
	return first < 0 ? list : list.slice(0, first + 1);
}

/** A list of events, or a single event. */
export const events = documentAs(
	z.preprocess(
		(value) => {
			if (Array.isArray(value)) return firstInvalid(value);
			return typeof value === "object" && value !== null ? [value] : value;
		},
		z.array(event, { error: "Expected a list of events." }),
	),
	z.union([z.array(event), event]),
);

export const Accepted = z.object({ accepted: z.int() });
