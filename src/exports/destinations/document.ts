/** Requests with a destination, in the OpenAPI document. The routes accept any type and config. */
import * as z from "zod";
import type { Configurable } from "./definition.ts";

/** Returns the settings of a type. The description of a secret says that it is one. */
const fieldsOf = ({ config, secrets }: Documented): [name: string, setting: z.ZodType][] =>
	Object.entries<z.ZodType>(config.shape).map(([name, setting]) => [
		name,
		secrets.includes(name)
			? setting.describe(`${setting.description} Secret: never returned.`)
			: setting,
	]);

/** Returns a setting as it is in a PATCH, where null removes it. */
function changing(setting: z.ZodType) {
	if (setting.safeParse(null).success) return setting.optional();
	const { description = "" } = setting;
	return setting.meta({ description: undefined }).nullable().describe(description).optional();
}

type Documented = Pick<Configurable, "config" | "secrets">;

type Request = {
	/** The types and their definitions. */
	types: Record<string, Documented>;
	/** The prefix of the ids of the types' schemas. Generators of clients need these. */
	prefix: string;
	/** The id of the union of all types. */
	id: string;
	/** The descriptions of the fields. */
	type: string;
	config: string;
};

/** The destination of a new object, for `documentAs`. */
export const destinationOfNew = (request: Request) =>
	z
		.union(
			Object.entries(request.types).map(([type, definition]) => {
				const id = `${request.prefix}${type}Destination`;
				const config = z
					.strictObject(Object.fromEntries(fieldsOf(definition)))
					.meta({ id: `${id}Config` });
				const isOptional = config.safeParse({}).success;
				return z
					.object({
						type: z.literal(type).describe(request.type),
						config: (isOptional ? config.optional() : config).describe(request.config),
					})
					.meta({ id });
			}),
		)
		.meta({ id: request.id });

/** A destination in a PATCH, for `documentAs`. */
export const changedDestination = (request: Request) =>
	z
		.union(
			Object.entries(request.types).map(([type, definition]) => {
				const id = `${request.prefix}${type}Destination`;
				const fields = fieldsOf(definition).map(([name, field]) => [name, changing(field)]);
				const config = z.strictObject(Object.fromEntries(fields)).meta({ id: `${id}ConfigUpdate` });
				return z
					.object({
						type: z.literal(type).optional().describe(request.type),
						config: config.optional().describe(request.config),
					})
					.meta({ id: `${id}Update` });
			}),
		)
		.meta({ id: request.id });
