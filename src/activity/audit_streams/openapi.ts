import * as z from "zod";
import { changing, settingsOf } from "../../exports/destinations/document.ts";
import { describe } from "../../http/openapi.ts";
import { documentAs } from "../../http/router.ts";
import { create, FIXED, TYPES, update } from "./shape.ts";

const SETTINGS = "Its settings: those of an export, except the ones for the content of files.";

/** The settings of a bucket: those of an export, without what a stream doesn't have. */
const settings = (
	type: (typeof TYPES)[number],
	id: string,
	change: (value: z.ZodType) => z.ZodType,
) => {
	const fields = settingsOf(type).filter(([key]) => !FIXED.includes(key) && key !== "prefix");
	const prefix = z.string().max(512).describe("The prefix of the files' keys.");
	return z
		.strictObject({
			prefix: change(prefix),
			...Object.fromEntries(fields.map(([key, value]) => [key, change(value)])),
		})
		.meta({ id });
};

const Destination = z
	.union(
		TYPES.map((type) => {
			const id = `AuditStream${type}Destination`;
			const config = settings(type, `${id}Config`, (value) => value);
			return z.object({ type: z.literal(type), config }).meta({ id });
		}),
	)
	.meta({ id: "AuditStreamDestination" });

const DestinationUpdate = z
	.union(
		TYPES.map((type) => {
			const id = `AuditStream${type}Destination`;
			const config = settings(type, `${id}ConfigUpdate`, changing);
			return z
				.object({ type: z.literal(type).optional(), config: config.optional() })
				.meta({ id: `${id}Update` });
		}),
	)
	.meta({ id: "AuditStreamDestinationUpdate" });

documentAs(create.shape.destination, Destination);
for (const option of Destination.options)
	describe(option, { type: "The kind of bucket.", config: SETTINGS });

documentAs(update.shape.destination.unwrap(), DestinationUpdate);
for (const option of DestinationUpdate.options)
	describe(option, {
		type: "The kind of bucket, which can't be changed.",
		config: "The settings to change. Null removes one.",
	});
