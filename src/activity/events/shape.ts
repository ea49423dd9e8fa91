import * as z from "zod";
import { EVENT_TYPES, TYPE_FILTER } from "../../db/event_types.ts";
import { issue, timestamp, uuid } from "../../http/fields.ts";
import { documentAs } from "../../http/router.ts";
import { EntryChange } from "../activity_log/shape.ts";

/** docs/events.md#an-event. */
export const FeedEvent = z
	.object({
		id: z.guid(),
		type: documentAs(z.string(), z.enum([...EVENT_TYPES])),
		created_at: timestamp(),
		api_version: z.string(),
		actor: z.object({
			type: z.enum(["user", "service_account", "system", "operator"]),
			uuid: z.guid().nullable(),
			first_name: z.string().nullable(),
			email: z.email().nullable(),
		}),
		data: z.object({
			scope: z.string(),
			item_id: z.string(),
			organization_id: z.guid().nullable(),
			project_id: z.int().nullable(),
			name: z.string().nullable(),
			changes: z.array(EntryChange),
			trigger: z.record(z.string(), z.unknown()).nullable(),
		}),
	})
	.meta({ id: "FeedEvent" });

const NOT_A_TYPE =
	"Expected types such as member.updated, or member.* for all types that begin with it.";

/** Types of events, repeated or separated by commas. Undefined if there are none. */
const types = () =>
	z.preprocess(
		(given: string | string[], { issues }) => {
			const all = [given]
				.flat()
				.flatMap((text) => text.split(","))
				.map((text) => text.trim())
				.filter((text) => text !== "");
			if (!all.every((text) => TYPE_FILTER.test(text)))
				issues.push(issue(given, "invalid_input", NOT_A_TYPE));
			return all.length > 0 ? all : undefined;
		},
		z
			.array(
				z
					.string()
					.regex(TYPE_FILTER)
					.meta({ examples: [...EVENT_TYPES] }),
			)
			.optional(),
	);

export const filters = z.object({
	after: uuid().optional(),
	types: types().optional(),
});
