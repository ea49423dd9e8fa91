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
		uuid: uuid().optional(),
		event: eventName(400),
		distinct_id: eventName(400),
		person_id: uuid().nullable().optional(),
		properties: dictionary().optional(),
		person_properties: dictionary().nullable().optional(),
		elements_chain: eventText().optional(),
		timestamp: moment().optional(),
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

export const Accepted = z.object({ accepted: z.int() });
