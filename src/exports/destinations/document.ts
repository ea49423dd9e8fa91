/** Requests with a destination, in the OpenAPI document. The routes accept any type and config. */
import * as z from "zod";
import { DESTINATIONS, secretsOf, type Type } from "./index.ts";

/** Returns the settings of a type. The description of a secret says that it is one. */
function settingsOf(type: Type): [name: string, setting: z.ZodType][] {
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
function changing(setting: z.ZodType) {
	if (setting.safeParse(null).success) return setting.optional();
	const { description = "" } = setting;
	return setting.meta({ description: undefined }).nullable().describe(description).optional();
}

type Request = {
	types: readonly Type[];
	/** The prefix of the ids of the types' schemas. Generators of clients need these. */
	prefix: string;
	/** The id of the union of all types. */
	id: string;
	/** The descriptions of the fields. */
	type: string;
	config: string;
	/** Settings that differ from those of exports; null for those that don't exist. */
	others?: Record<string, z.ZodType | null>;
};

const fieldsOf = (type: Type, { others = {} }: Request) =>
	settingsOf(type).flatMap(([name, setting]) => {
		const field = others[name] === undefined ? setting : others[name];
		return field === null ? [] : [[name, field] as const];
	});

/** The destination of a new object, for `documentAs`. */
export const destinationOfNew = (request: Request) =>
	z
		.union(
			request.types.map((type) => {
				const id = `${request.prefix}${type}Destination`;
				const config = z
					.strictObject(Object.fromEntries(fieldsOf(type, request)))
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
			request.types.map((type) => {
				const id = `${request.prefix}${type}Destination`;
				const fields = fieldsOf(type, request).map(([name, field]) => [name, changing(field)]);
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
