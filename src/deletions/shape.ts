import * as z from "zod";
import { KEPT_SCOPES, type KeptType } from "../db/schema/deletions.ts";
import { boolean } from "../http/fields.ts";
import { documentAs } from "../http/router.ts";

const TYPES = Object.keys(KEPT_SCOPES).filter((type): type is KeptType => type in KEPT_SCOPES);

/** The body of a restoration. */
export const restore = z.object({
	partial: boolean()
		.optional()
		.describe(
			"Whether to restore the object without what can't be restored, which `left_out` then lists. By default, the response is a 409 that names it.",
		),
});

const Gap = z.object({
	batch_export_id: z.guid().describe("The export."),
	by: documentAs(z.string(), z.literal("arrival")).describe(
		"What a backfill of the gap selects its rows by.",
	),
	start_at: z.string().describe("The start of the first window."),
	end_at: z.string().describe("The end of the last window."),
	windows: z.int().describe("The number of windows."),
});

export const LeftOut = z.object({
	type: documentAs(z.string(), z.enum(TYPES)).describe("The type of the missing object."),
	id: z.string().describe("Its id."),
	name: z.string().nullable().describe("Its name; null if it was removed for good."),
	count: z.int().describe("How many plugin configs need it."),
});

/** What was restored. */
export const Restored = z
	.object({
		type: documentAs(z.string(), z.enum(TYPES)).describe("The type of the object."),
		id: z.string().describe("Its id, the same as before."),
		name: z.string().describe("Its name."),
		gaps: z
			.array(Gap)
			.describe(
				"The windows of exports that passed while it was deleted, and aren't exported. To export one, start a backfill with its `by`, `start_at` and `end_at`.",
			),
		left_out: z
			.array(LeftOut)
			.describe("The missing objects that plugin configs of it need, which weren't restored."),
	})
	.meta({ id: "RestoredObject" });
