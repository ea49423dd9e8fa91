/** The formats of a stream's entries (docs/audit.md#formats). */
import { type EventRow, toEvent } from "../events/event.ts";
import { toOcsf } from "./ocsf.ts";

export const FORMATS = ["Tenantry", "OCSF"] as const;

type Format = (typeof FORMATS)[number];

const WRITERS: Record<Format, (row: EventRow, number: number) => object> = {
	Tenantry: toEvent,
	OCSF: (row, number) => toOcsf(toEvent(row), number),
};

/** Returns the function that converts a row and its number in the stream to an entry. */
export const entryWriter = ({ format }: { format?: unknown }) =>
	WRITERS[FORMATS.find((known) => known === format) ?? "Tenantry"];
