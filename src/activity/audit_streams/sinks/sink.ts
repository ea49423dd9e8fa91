/** What audit streams write to: a bucket, or a server that receives entries. */

import type { AuditFile } from "../../../db/schema/audit_streams.ts";
import { choice, explain } from "../../../http/fields.ts";
import type { Step } from "../../../outbound/steps.ts";
import type { Stream } from "../entries.ts";
import { FORMATS } from "../formats.ts";

/** The stream's columns that its files have. */
export type Written = Pick<Stream, "id" | "organization_uuid" | "delivered_events" | "destination">;

/** A file to write. */
export type File = { plan: AuditFile; body: Uint8Array };

/** How much of a file a sink has accepted. */
export type Progress = NonNullable<AuditFile["progress"]>;

export type Sink = {
	/** Returns the key of a file; null if the sink has no files. */
	keyOf(file: AuditFile): string | null;
	/**
	 * Whether the sink has the whole file.
	 * @throws MisconfiguredError if it has another one in its place
	 */
	has(file: AuditFile): Promise<boolean>;
	/**
	 * Writes a file, from where `plan.progress` ends. Yields after each request; the last value is
	 * about the file's last entry, which has the number `last`. The caller may stop at any of them.
	 */
	write(file: File, last: number): AsyncIterable<Progress>;
	/** Writes a sample, up to the first step that fails. */
	test(): Promise<Step[]>;
};

export const format = explain(
	choice(FORMATS).nullish(),
	"The format of entries; `Tenantry` by default.",
	{
		Tenantry: "as in the event feed.",
		OCSF: "events of the Open Cybersecurity Schema Framework 1.5.",
	},
);
