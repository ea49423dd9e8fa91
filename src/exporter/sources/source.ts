import type { Expression, Field } from "../query/query.ts";
import type { Model, Row } from "../rows.ts";

/** Which rows an export takes, and what of each. */
export type Selection = {
	team_id: number;
	model: Model;
	fields: Field[];
	/** The condition of its query; null: it has none. */
	where: Expression | null;
	/** Scheduled runs select by when a row got here, backfills by when it happened (of persons: was made). */
	by: "ingestion" | "event";
	/** Half open: from `start`, before `end`. RFC 3339, UTC. */
	start: string;
	end: string;
	/** Names of events; none: all of them. Of no meaning for persons. */
	include_events: string[];
	exclude_events: string[];
};

/**
 * What a table has to check itself of a query's condition: that a column is one of these texts, or none of them, or that
 * it is a moment from `from` on and before `before`. A column without a value meets neither.
 */
export type Filter =
	| { column: string; texts: string[]; negated: boolean }
	| { column: string; from: string | null; before: string | null };

/** A selection as a table sees it: columns instead of expressions. */
export type Scan = Omit<Selection, "fields" | "where"> & {
	/** What to read of each row, at least one. */
	columns: string[];
	/** What the rows have to meet, all of it. */
	filters: Filter[];
	weights: Weights;
};

/** How large what is made of a row may be: how often each of its columns is copied, and the bytes beside the columns. */
export type Weights = { copies: Record<string, number>; fixed: number };

/** Behind which row a page begins: its order values. */
export type Position = string[];

/**
 * Rows in one stable order, and the position behind the last of them; null: there are no more. `unfit`: how many values
 * are null because their column can't hold them.
 */
export type Page = { rows: Row[]; next: Position | null; unfit: number };

/** A source's tables. The order of a page's values is that of the scan's columns; times are ISO 8601 in milliseconds. */
export type Table = {
	count(scan: Scan): Promise<number>;
	page(scan: Scan, after: Position | null): Promise<{ rows: Row[]; next: Position | null }>;
	/** Ends what the next page would have been read from. */
	release?(): void;
};

/** Where the rows of exports come from (docs/exports.md#what-is-written). Whatever a window holds, a page is bounded in rows and bytes. */
export type Source = {
	count(selection: Selection): Promise<number>;
	/** The page behind `after`; null: the first. The same of both gives the same page. */
	page(selection: Selection, after: Position | null): Promise<Page>;
	/** Ends what the next page would have been read from. Called once, after the last call. */
	release?(): void;
};
