/** Types of the command table in generated.ts. */

/** A path or query parameter, or a field of a body. */
export type Field = {
	/** The name in the API. */
	name: string;
	/** `strings` and `integers` are lists, `json` is anything else. */
	kind: "string" | "integer" | "number" | "boolean" | "strings" | "integers" | "json";
	help: string;
	choices?: string[];
	/** Names of numbers, such as those of levels. */
	words?: Record<string, number>;
	/** The alias of an id in a path, such as `@current`. */
	alias?: string;
	isRequired?: true;
};

/** A command that calls one operation. */
export type Command = {
	name: string;
	/** The method of the client. */
	method: string;
	verb: string;
	summary: string;
	description: string;
	path: Field[];
	query: Field[];
	/**
	 * The fields of the body; undefined if there is no body, empty if the body isn't an object with
	 * known fields.
	 */
	body?: Field[];
	needsBody?: true;
	/** The operation revokes something, and can return a receipt. */
	hasReceipt?: true;
	/** The operation doesn't require a key. */
	isPublic?: true;
	/** The fields that the table of a list can show. */
	columns?: string[];
};

/** Commands about one kind of object. */
export type Group = {
	name: string;
	/** The heading of the help that lists it. */
	topic: string;
	/** The resource of the client. */
	resource: string;
	description: string;
	commands: Command[];
};
