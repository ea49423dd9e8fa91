/** The configs of destinations in the OpenAPI document. */
import * as z from "zod";
import { DESTINATIONS, secretsOf, TYPES, type Type } from "./index.ts";

/** Returns the settings of a type. The description of a secret says that it is one. */
export function settingsOf(type: Type): [name: string, setting: z.ZodType][] {
	const { shape }: z.ZodObject = DESTINATIONS[type].config;
	const secret = secretsOf(type);
	return Object.entries<z.ZodType>(shape).map(([name, setting]) => [
		name,
		secret.includes(name)
			? setting.describe(`${setting.description} Secret: never returned.`)
			: setting,
	]);
}

/** Returns a setting as it is in a PATCH, where null removes it. */
export function changing(setting: z.ZodType) {
	if (setting.safeParse(null).success) return setting.optional();
	const { description = "" } = setting;
	return setting.meta({ description: undefined }).nullable().describe(description).optional();
}

/** The config of each type of destination. Each has a name, which generators of clients need. */
export const Destination = z
	.union(
		TYPES.map((type) => {
			const config = z
				.strictObject(Object.fromEntries(settingsOf(type)))
				.meta({ id: `${type}DestinationConfig` });
			return z
				.object({
					type: z.literal(type),
					config: config.safeParse({}).success ? config.optional() : config,
				})
				.meta({ id: `${type}Destination` });
		}),
	)
	.meta({ id: "BatchExportDestination" });

/** A destination in a PATCH. */
export const DestinationUpdate = z
	.union(
		TYPES.map((type) => {
			const keys = settingsOf(type).map(([key, setting]) => [key, changing(setting)]);
			const config = z
				.strictObject(Object.fromEntries(keys))
				.meta({ id: `${type}DestinationConfigUpdate` });
			return z
				.object({ type: z.literal(type).optional(), config: config.optional() })
				.meta({ id: `${type}DestinationUpdate` });
		}),
	)
	.meta({ id: "BatchExportDestinationUpdate" });
