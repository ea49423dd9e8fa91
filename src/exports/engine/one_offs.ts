/** One-off exports: one range, whose files people download (docs/exports.md#one-off-exports). */
import { DAY_MS, iso } from "../../lib/time.ts";
import { MisconfiguredError } from "../../outbound/errors.ts";
import type { Job } from "../destinations/destination.ts";

/** How long a one-off export and its files are kept. */
const RETENTION_MS = 7 * DAY_MS;

/** How much text the rows can have. */
const MAX_BYTES = 10 ** 9;

export const expiryFrom = (at: number) => iso(at + RETENTION_MS);

/** The folder of the files, which nothing else writes to. */
export const folderOf = (uuid: string) => `one_off/${uuid}`;

/** @throws MisconfiguredError if the rows of a one-off export so far are too many */
export function checkSize({ isOneOff }: Job, bytes: number) {
	if (isOneOff && bytes > MAX_BYTES)
		throw new MisconfiguredError(
			"The rows have more than 1 GB: choose a shorter range, or set up an export, which has no limit.",
		);
}
