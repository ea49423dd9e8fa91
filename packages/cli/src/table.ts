/** The types of the table of commands in generated.ts. */

/** A parameter of a path or query, or a field of a body. */
export type Field = {
	/** As the API calls it. */
	name: string;
	/** `strings` and `integers` are lists, `json` is anything else. */
	kind: "string" | "integer" | "number" | "boolean" | "strings" | "integers" | "json";
	help: string;
	choices?: string[];
	/** Of an id in a path, what may stand for it, such as `@current`. */
	alias?: string;
	isRequired?: true;
};

/** A command that calls one operation. */
export type Command = {
	name: string;
	/** The client's method. */
	method: string;
	verb: string;
	summary: string;
	description: string;
	path: Field[];
	query: Field[];
	/** The fields of the body; undefined without a body, empty if it isn't an object of known fields. */
	body?: Field[];
	needsBody?: true;
	/** It can be called without a key. */
	isPublic?: true;
	/** Of a list, the fields that a table may show. */
	columns?: string[];
};

/** Commands about one kind of object. */
export type Group = {
	name: string;
	/** The client's resource. */
	resource: string;
	description: string;
	commands: Command[];
};
