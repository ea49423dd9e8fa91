import type { Field } from "../../batch_exports/query.ts";
import type { Model, Row } from "../rows.ts";

/** Which rows an export takes, and what of each. */
export type Selection = {
	team_id: number;
	model: Model;
	fields: Field[];
	/** Scheduled runs select by when a row got here, backfills by when it happened (of persons: was made). */
	by: "ingestion" | "event";
	/** Half open: from `start`, before `end`. RFC 3339, UTC. */
	start: string;
	end: string;
	/** Names of events; none: all of them. Of no meaning for persons. */
	include_events: string[];
	exclude_events: string[];
};

/** Behind which row a page begins: its order values. */
export type Position = string[];

/**
 * Rows in one stable order, and the position behind the last of them; null: there are no more. `unfit`: how many values
 * are null because their column can't hold them.
 */
export type Page = { rows: Row[]; next: Position | null; unfit: number };

/** Where the rows of exports come from (behaviour 11.3). Whatever a window holds, a page is bounded in rows and bytes. */
export type Source = {
	count(selection: Selection): Promise<number>;
	/** The page behind `after`; null: the first. The same of both gives the same page. */
	page(selection: Selection, after: Position | null): Promise<Page>;
	/** Ends what the next page would have been read from. Called once, after the last call. */
	release?(): void;
};
