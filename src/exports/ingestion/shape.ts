import * as z from "zod";
import { eventName, eventText, issue, moment, uuid } from "../../http/fields.ts";
import { whyInvalid } from "../../http/json_value.ts";
import { documentAs } from "../../http/router.ts";

/** A JSON object whose numbers keep all digits. `z.record` would drop the key `__proto__`. */
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
				issues.push({ code: "invalid_type", expected: "record", input: value });
			else {
				const why = whyInvalid(value);
				if (why) issues.push(issue(value, "invalid_input", why));
			}
		})
		.meta({ type: "object" });

/** An event (docs/exports.md#events). */
export const event = z
	.object({
		uuid: uuid()
			.optional()
			.describe(
				"Identifies the event in the project. By default a new one, so that sending the event again stores it twice.",
			),
		event: eventName(400).describe("The name of what happened, at most 400 characters."),
		distinct_id: eventName(400).describe(
			"Identifies who did it in your own system, at most 400 characters. The project has at most one person for each.",
		),
		person_id: uuid()
			.nullable()
			.optional()
			.describe(
				"The person's id. If missing, it is derived from the project and `distinct_id`, and replaced if you send one later.",
			),
		properties: dictionary()
			.optional()
			.describe(
				"More about the event: any JSON object, at most 100 levels deep. Numbers keep all digits; a number outside the range of a double returns 400. `{}` by default.",
			),
		person_properties: dictionary()
			.nullable()
			.optional()
			.describe(
				"What the event says about the person, in the form of `properties`. It is merged into the stored properties, key by key; null is a value like any other. Ignored if the person's properties would become larger than 512 KiB.",
			),
		elements_chain: eventText()
			.optional()
			.describe("The page elements that the event is about, as text. Empty by default."),
		timestamp: moment()
			.optional()
			.describe(
				"When it happened, in ISO 8601; UTC if it has no offset. By default, the time when the event is stored. Scheduled exports select events by when they were stored, backfills by this time.",
			),
	})
	.meta({ id: "IngestedEvent" });

/** Cuts the list after the first invalid event, so that zod doesn't collect a million issues. */
function firstInvalid(list: unknown[]) {
	const first = list.findIndex((item) => !event.safeParse(item).success);
	return first < 0 ? list : list.slice(0, first + 1);
}

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

export const Accepted = z.object({
	accepted: z.int().describe("How many events the request had, including known ones."),
});
