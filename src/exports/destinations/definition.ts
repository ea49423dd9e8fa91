/**
 * The facts about a type of destination, except the code that writes rows. Each type has a folder
 * with its `definition.ts`, and a line in `index.ts`, which the forms of the console, the OpenAPI
 * document, and the rules about secrets and columns follow.
 */
import type * as z from "zod";
import type { Model } from "../query/rows.ts";
import type { FilesConfig } from "./files/names.ts";

/** Rows in a `database` always include the columns of their key. */
export type Kind = "files" | "database" | "receiver" | "nothing";

/** A step of a test (docs/exports.md#destinations). */
type TestStep = "reach" | "sign in" | "write" | "remove";

type Field<C extends z.ZodObject> = Extract<keyof z.output<C>, string>;

/** The settings of a stored config, which may no longer be valid. Null and missing are the same. */
type Stored<C extends z.ZodObject> = { [F in Field<C>]?: string };

/** Either no setting is secret, or the server that gets the secrets is known. */
type Secrets<C extends z.ZodObject> =
	| { secrets: []; server: null }
	| {
			/** The settings that are encrypted, and never returned. */
			secrets: [Field<C>, ...Field<C>[]];
			/**
			 * Returns the server that gets the secrets: the origin of a URL, or a host and port. Null for
			 * the provider's. Secrets never follow to another server (secrets.ts).
			 */
			server: (config: Stored<C>) => string | null;
	  };

/** A role that runs can take instead of having a stored key (docs/exports.md#without-stored-keys). */
type Role<F> = {
	/** Its settings. The first one is required. */
	settings: [F, ...F[]];
	/** The settings of stored keys, which it replaces. */
	replaces: F[];
	/** The settings that can't be combined with it: another server would get its credentials. */
	excludes?: F[];
};

type Facts<C extends z.ZodObject> = Secrets<C> & {
	/** Its name in the console. */
	title: string;
	/** The settings, each with its description. */
	config: C;
	/** The setting that says in a list where rows go; null if there is none. */
	place: Field<C> | null;
	/** The steps of a test, in order. */
	test: TestStep[];
	/** The secrets of a key, which are required together. */
	key?: Field<C>[];
	/** The secrets of which exactly one is required. */
	oneOf?: Field<C>[];
	role?: Role<Field<C>>;
	/** The settings that are required unless there is a role. */
	required?: Field<C>[];
	/** The models that it accepts, if not all. */
	models?: Model[];
	/** Returns why a table can't have columns with these names; null if it can. */
	whyNotColumns?: (names: string[]) => string | null;
};

/** What the settings of a type require, for a type that is only known when the code runs. */
export type Configurable = {
	config: z.ZodObject;
	secrets: string[];
	server: ((config: Record<string, string>) => string | null) | null;
	key?: string[];
	oneOf?: string[];
	role?: Role<string>;
	required?: string[];
};

/** The types that one kind of object can have, such as exports. */
export type Registry = {
	types: readonly string[];
	find(type: string): Configurable | undefined;
};

export type Definition<C extends z.ZodObject> = Facts<C> & { kind: Exclude<Kind, "files"> };

/** The settings of a bucket. */
export type BucketShape = z.ZodObject & z.ZodType<FilesConfig>;

/** A bucket, into which exports write files, and audit streams, too. */
export type BucketDefinition<C extends BucketShape> = Facts<C> & {
	/** Returns the bucket's URL; null for the service's own bucket, which all organizations share. */
	url: ((config: z.output<C>) => URL) | null;
};

export const define = <C extends z.ZodObject>(definition: Definition<C>) => definition;

export const defineBucket = <C extends BucketShape>(definition: BucketDefinition<C>) => definition;

export const originOf = (url: string | undefined) => URL.parse(url ?? "")?.origin ?? null;

/** Returns the types of a table, and a function that finds one by a name that may be unknown. */
export function typesOf<T extends string, E>(entries: Record<T, E>) {
	const isType = (type: string): type is T => Object.hasOwn(entries, type);
	function definitionOf(type: T): E;
	function definitionOf(type: string): E | undefined;
	function definitionOf(type: string) {
		return isType(type) ? entries[type] : undefined;
	}
	return { TYPES: Object.keys(entries).filter(isType), definitionOf };
}
