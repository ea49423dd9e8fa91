/** Types that compare the response of a route with its documented schema. */
import type { Hono } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { JSONValue } from "hono/utils/types";
import type { App } from "../../src/env.ts";

type Endpoint = { output: unknown; outputFormat: string; status: number };
type IsDocumented = { outputFormat: "documented" };

/** The routes with their documented responses, for typed clients. */
export type AsDocumented<S> = {
	[Path in keyof S]: {
		[Method in keyof S[Path]]: ResponseOf<S[Path][Method]>;
	};
};

type ResponseOf<E> = [Extract<E, IsDocumented>] extends [never]
	? E
	: Extract<E, IsDocumented> extends infer D
		? { [K in keyof D]: K extends "outputFormat" ? "json" : D[K] }
		: never;

/** Each difference between a response and its documentation, such as `GET /path: field`. */
export type Differences<R> =
	R extends Hono<App, infer S, string>
		? {
				[Path in keyof S & string]: {
					[Method in keyof S[Path] & string]: Difference<
						S[Path][Method],
						`${Method extends `$${infer Name}` ? Uppercase<Name> : never} ${Path}:`
					>;
				}[keyof S[Path] & string];
			}[keyof S & string]
		: never;

/** Compiles only if there are no differences. Otherwise, the compiler's error lists them. */
export type AssertNone<T extends never> = T;

type Difference<E, At extends string> = [Extract<E, IsDocumented>] extends [never]
	? never
	: Compared<Exclude<E, IsDocumented>, Extract<E, IsDocumented>, At>;

/** A plain `Response`, such as a file, has no type to compare. */
type Compared<Actual, Expected, At extends string> = Actual extends Endpoint
	? Expected extends Endpoint
		? string extends Actual["outputFormat"]
			? never
			:
					| WrongStatus<Actual["status"], Expected["status"], At>
					| WrongValue<Actual["output"], Expected["output"], At>
		: never
	: never;

/** `c.json(value)` without a status has the type of all statuses, and returns 200. */
type WrongStatus<Actual, Expected, At extends string> = [ContentfulStatusCode] extends [Actual]
	? 200 extends Expected
		? never
		: `${At} the status is missing`
	: [Expected] extends [Actual]
		? never
		: `${At} the status differs`;

type WrongValue<Actual, Expected, At extends string> = [JSONValue] extends [Expected]
	? never
	: Actual extends readonly (infer A)[]
		? WrongValue<A, ItemOf<Expected>, `${At}[]`>
		: Actual extends object
			? WrongObject<Actual, Extract<Expected, object>, At>
			: Actual extends Expected
				? never
				: `${At} has another type`;

type ItemOf<T> = T extends readonly (infer Item)[] ? Item : never;

type WrongObject<Actual, Expected, At extends string> = [Expected] extends [never]
	? `${At} has another type`
	:
			| {
					[K in keyof Actual & string]: K extends KeyOf<Expected>
						? WrongValue<Actual[K], ValueOf<Expected, K>, `${At} ${K}`>
						: `${At} ${K} is not documented`;
			  }[keyof Actual & string]
			| (Actual extends Expected ? never : Missing<Actual, Expected, At>);

type KeyOf<Union> = Union extends unknown ? keyof Union : never;
type ValueOf<Union, K extends PropertyKey> = Union extends { [Key in K]?: infer V } ? V : never;

/** The fields that are required in the documentation but optional in the response. */
type Missing<Actual, Expected, At extends string> = {
	[K in keyof Expected & string]: undefined extends Expected[K]
		? never
		: Actual extends Record<K, unknown>
			? never
			: `${At} ${K} is missing`;
}[keyof Expected & string];
