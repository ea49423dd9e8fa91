/** What a client knows about the objects that it has returned. */

export type Values = Record<string, unknown>;

type Memory = {
	/** The parameters of the path that the object came from. */
	parameters: Values;
	/** Of the response, if the object is all of it. */
	etag: string | null;
};

export const isObject = (value: unknown): value is Values =>
	typeof value === "object" && value !== null;

/** The names of the parameters in a path, in order. */
export const namesIn = (path: string) =>
	Array.from(path.matchAll(/\{(\w+)\}/g), ([, name = ""]) => name);

/** The id that an object has in paths. */
function idOf(object: Values, name: string) {
	if (name !== "user") return object.id ?? object.uuid;
	return (isObject(object.user) ? object.user : object).uuid;
}

const isAlias = (value: unknown) => typeof value === "string" && value.startsWith("@");

/** Of a path that leads to one object, the parameter that names it. */
const ownName = (path: string) => {
	const name = namesIn(path).at(-1);
	return name === "organization" || name === "project" ? undefined : name;
};

/** Remembers objects as long as someone else does. */
export class Memories {
	readonly #known = new WeakMap<object, Memory>();

	/** Keeps where an item of a list came from. */
	keepItem(item: unknown, parameters: Values) {
		if (isObject(item)) this.#known.set(item, { parameters, etag: null });
	}

	/** Keeps where an object came from. Its own id replaces `@me` or `@current`, which may change. */
	keep(object: unknown, path: string, parameters: Values, etag: string | null) {
		if (!isObject(object)) return;
		const own = ownName(path);
		const kept = Object.entries(parameters).filter(
			([name, value]) => !(name === own && isAlias(value)),
		);
		this.#known.set(object, { parameters: Object.fromEntries(kept), etag });
	}

	/** The values of a call's parameters, and the ETag, if its argument is an object of this client. */
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
