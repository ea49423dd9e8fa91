import * as z from "zod";
import { EVENT_TYPES, TYPE_FILTER } from "../../db/event_types.ts";
import { explain, issue, timestamp, uuid } from "../../http/fields.ts";
import { documentAs } from "../../http/router.ts";
import { actorFields, ORIGIN_TEXT, OriginShape } from "../activity_log/actor.ts";
import { EntryChange } from "../activity_log/shape.ts";

const { field, before, after } = EntryChange.shape;

const Change = EntryChange.extend({
	field: field.describe("The field's name."),
	before: before.describe("The value before; null for none."),
	after: after.describe("The value after; null for none."),
});

/** docs/events.md#an-event. */
export const FeedEvent = z
	.object({
		id: z.guid().describe("Identifies the event. Entries of the activity log have the same ids."),
		type: documentAs(z.string(), z.enum([...EVENT_TYPES])).describe(
			"What happened: the kind of the object and what was done, such as `member.updated`. New types are added without a new version of the API.",
		),
		created_at: timestamp().describe("When it happened."),
		api_version: z.string().describe("The version of the API that the event follows."),
		actor: z
			.object({
				type: explain(
					z.enum(["user", "service_account", "app", "system", "operator"]),
					"The kind of the actor. Entries of the activity log also tell apps of people and plugins apart.",
					{
						user: "a person, with one of their keys or through an app.",
						service_account: "a service account, with one of its keys.",
						app: "an identity provider, through SCIM.",
						system: "the service itself, for example on a schedule.",
						operator: "the operator of the service.",
					},
				),
				...actorFields,
			})
			.describe("Who or what caused the event."),
		origin: OriginShape.nullable().describe(ORIGIN_TEXT),
		data: z
			.object({
				scope: z.string().describe("The kind of the object, such as `Member`."),
				item_id: z.string().describe("The object's id, always as a string."),
				organization_id: z.guid().nullable().describe("The organization's id."),
				project_id: z
					.int()
					.nullable()
					.describe("The project's id; null if it isn't about a project."),
				name: z
					.string()
					.nullable()
					.describe("The object's name when it happened; null if it has none."),
				changes: z
					.array(Change)
					.describe(
						"The fields whose values changed. Empty if the event is not about fields. Secrets are `********`.",
					),
				trigger: z
					.record(z.string(), z.unknown())
					.nullable()
					.describe("More information, depending on the type. Null if there is none."),
			})
			.describe("The object and its changes."),
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
	after: uuid()
		.optional()
		.describe(
			"Only events after the one with this id: `after` of the last response. By default, the feed begins with the oldest event.",
		),
	types: types()
		.optional()
		.describe(
			"Only events of these types, such as `member.updated`, or `member.*` for all types with this prefix. Repeat the parameter, or separate types with commas. Unknown types match nothing.",
		),
});
