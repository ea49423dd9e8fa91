/** Stores the path parameters and ETags of the objects that a client has returned. */

export type Values = Record<string, unknown>;

type Memory = {
	/** The parameters of the path that the object came from. */
	parameters: Values;
	/** The ETag of the response; null for an item of a list. */
	etag: string | null;
};

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

/** Remembers where objects came from, without preventing their garbage collection. */
export class Memories {
	readonly #known = new WeakMap<object, Memory>();

	/** Remembers the path parameters of an item of a list. */
	keepItem(item: unknown, parameters: Values) {
		if (isObject(item)) this.#known.set(item, { parameters, etag: null });
	}

	/** Remembers the path parameters and ETag of an object, with its id instead of `@me` or `@current`. */
	keep(object: unknown, path: string, parameters: Values, etag: string | null) {
		if (!isObject(object)) return;
		const own = ownName(path);
		const kept = Object.entries(parameters).filter(
			([name, value]) => !(name === own && isAlias(value)),
		);
		this.#known.set(object, { parameters: Object.fromEntries(kept), etag });
	}

	/** Returns the path parameters and the ETag of an object of this client, or the argument itself. */
	recall(argument: Values, path: string): { values: Values; etag: string | null } {
		const known = this.#known.get(argument);
		if (!known) return { values: argument, etag: null };
		const values = namesIn(path).map((name) => [
			name,
			known.parameters[name] ?? idOf(argument, name),
		]);
		return { values: Object.fromEntries(values), etag: known.etag };
	}
}
