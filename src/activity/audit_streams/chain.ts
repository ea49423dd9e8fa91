/** The hash chain of an audit stream and its signed heads (docs/audit.md#the-hash-chain). */
import { createHash } from "node:crypto";

/** The first field of the first line of each file. Files of version 1 have no signature. */
export const FORMATS = ["tenantry-audit/1", "tenantry-audit/2"] as const;

export const FORMAT = "tenantry-audit/2";

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

/** Returns the `previous` digest for the first line of a stream. */
export const genesis = (stream_id: string) => sha256(stream_id);

/**
 * Returns a line of a file: `entry` with the digest of the previous line and the line's own, which
 * is the SHA-256 of the line's JSON without it.
 */
export function link(entry: object, previous: string) {
	const json = JSON.stringify({ ...entry, previous });
	const digest = sha256(json);
	return { line: `${json.slice(0, -1)},"digest":"${digest}"}\n`, digest };
}

/** The first line of a file, before it is linked. `first` and `last` are numbers of entries. */
export type Header = {
	format: string;
	stream: string;
	organization: string;
	sequence: number;
	first: number;
	last: number;
	count: number;
	missing: number;
};

/** The claims of a signed head: what the first line says, and the digest of the last entry. */
export type Head = Omit<Header, "format"> & { head: string };

/** The last line of a file, before it is linked. */
export type Signature = { signature: string };
