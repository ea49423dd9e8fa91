/** Where objects came from: their path parameters and ETags, which they carry with them. */

/** The key of an object's origin. Copies such as `{ ...object }` have it, too. It isn't part of JSON. */
const ORIGIN = Symbol("origin");

type Origin = {
	/** The parameters of the path that the object came from. */
	parameters: Record<string, unknown>;
	/** The ETag of the response; null for an item of a list. */
	etag: string | null;
};

export type Values = Record<string, unknown> & { [ORIGIN]?: Origin };

export const isObject = (value: unknown): value is Values =>
	typeof value === "object" && value !== null;

/** Returns the names of the parameters in a path, in order. */
export const namesIn = (path: string) =>
	Array.from(path.matchAll(/\{(\w+)\}/g), ([, name = ""]) => name);

/** Returns the id of an object in paths. A member's is the UUID of its user. */
function idOf(object: Values, name: string) {
	if (name !== "user") return object.id ?? object.uuid;
	return (isObject(object.user) ? object.user : object).uuid;
}

const isAlias = (value: unknown) => typeof value === "string" && value.startsWith("@");

/** Returns the path parameter with the object's own id, if there is one. */
const ownName = (path: string) => {
	const name = namesIn(path).at(-1);
	return name === "organization" || name === "project" ? undefined : name;
};

/** Sets the origin of an item of a list. */
export function setItemOrigin(item: unknown, parameters: Values) {
	if (isObject(item)) item[ORIGIN] = { parameters, etag: null };
}

/** Sets the origin of an object, with its id instead of `@me` or `@current`. */
export function setOrigin(object: unknown, path: string, parameters: Values, etag: string | null) {
	if (!isObject(object)) return;
	const own = ownName(path);
	const kept = Object.entries(parameters).filter(
		([name, value]) => !(name === own && isAlias(value)),
	);
	object[ORIGIN] = { parameters: Object.fromEntries(kept), etag };
}

/** Returns the path parameters and the ETag of an object that a client returned, or the argument itself. */
export function originOf(argument: Values, path: string): { values: Values; etag: string | null } {
	const origin = argument[ORIGIN];
	if (!origin) return { values: argument, etag: null };
	const values = namesIn(path).map((name) => [
		name,
		origin.parameters[name] ?? idOf(argument, name),
	]);
	return { values: Object.fromEntries(values), etag: origin.etag };
}
