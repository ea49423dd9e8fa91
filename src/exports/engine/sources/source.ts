import type { Expression, Field } from "../../query/expression.ts";
import type { Model, Row } from "../../query/rows.ts";

/** The rows of a run, and the fields of each. */
export type Selection = {
	team_id: number;
	model: Model;
	fields: Field[];
	where: Expression | null;
	/** By the time of arrival, or by the event's time or the person's creation. */
	by: "arrival" | "event";
	/** The interval [`start`, `end`), in RFC 3339, UTC. */
	start: string;
	end: string;
	/** Names of events; empty for all. Not used for persons. */
	include_events: string[];
	exclude_events: string[];
};

/**
 * A part of a query's condition that the database checks: the column is one of `texts` (if
 * `negated`, none of them), or it is a time in [`from`, `before`). Null never matches.
 */
export type Filter =
	| { column: string; texts: string[]; negated: boolean }
	| { column: string; from: string | null; before: string | null };

/** A selection as a table sees it: columns instead of expressions. */
export type Scan = Omit<Selection, "fields" | "where"> & {
	/** The columns to read, at least one. */
	columns: string[];
	/** Rows have to match all of them. */
	filters: Filter[];
	weights: Weights;
};

/** The terms of a row's maximum size: how often each column is copied, and other bytes. */
export type Weights = { copies: Record<string, number>; fixed: number };

/** A keyset cursor: the values of the last row's sort columns. */
export type Position = string[];

/**
 * Rows in a stable order. `next` is the position after the last row, or null if there are no more.
 * `unfit`: how many values are null because they don't fit their column's type.
 */
export type Page = { rows: Row[]; next: Position | null; unfit: number };

/** A source's tables. Times are ISO 8601 with milliseconds. */
export type Table = {
	count(scan: Scan): Promise<number>;
	page(scan: Scan, after: Position | null): Promise<{ rows: Row[]; next: Position | null }>;
	/** Ends the query that is open for the next page. */
	release?(): void;
};

/** Where the rows of exports come from. Pages are bounded in rows and bytes. */
export type Source = {
	count(selection: Selection): Promise<number>;
	/** Returns the page after a position, or the first. The same arguments return the same page. */
	page(selection: Selection, after: Position | null): Promise<Page>;
	release?(): void;
};
