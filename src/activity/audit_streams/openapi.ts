import * as z from "zod";
import { configs } from "../../exports/destinations/configs.ts";
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
	const fields = Object.entries<z.ZodType>(configs[type].shape).filter(
		([key]) => !FIXED.includes(key) && key !== "prefix",
	);
	const shape = z
		.strictObject({
			prefix: change(z.string().max(512)),
			...Object.fromEntries(fields.map(([key, value]) => [key, change(value)])),
		})
		.meta({ id });
	describe(shape, { prefix: "The prefix of the files' keys." });
	return shape;
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
			const config = settings(type, `${id}ConfigUpdate`, (value) =>
				(value.safeParse(null).success ? value : value.nullable()).optional(),
			);
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
