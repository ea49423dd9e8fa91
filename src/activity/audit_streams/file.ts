import type { Database } from "../../db/client.ts";
import type { AuditFile } from "../../db/schema/audit_streams.ts";
import { FORMAT, type Header, link } from "./chain.ts";
import { pagesOf, planFile, type Stream } from "./entries.ts";
import { entryWriter } from "./formats.ts";

/** A file to write. */
export type File = { plan: AuditFile; body: Uint8Array };

/** Returns the first line of a file. */
const headerOf = (
	stream: Pick<Stream, "id" | "organization_uuid" | "delivered_events">,
	{ sequence, count, missing }: Pick<AuditFile, "sequence" | "count" | "missing">,
): Header => ({
	format: FORMAT,
	stream: stream.id,
	organization: stream.organization_uuid,
	sequence,
	first: stream.delivered_events + 1,
	last: stream.delivered_events + count,
	count,
	missing,
});

/**
 * Builds a file in one pass, so that memory contains only its compressed bytes and one page of
 * entries.
 * @returns null if an entry of the plan no longer exists
 */
async function build(
	db: Database,
	stream: Stream,
	plan: Omit<AuditFile, "digest">,
): Promise<File | null> {
	let { line, digest } = link(headerOf(stream, plan), stream.digest);
	const toEntry = entryWriter(stream.destination.config);
	let number = stream.delivered_events;
	const gzip = new CompressionStream("gzip");
	const body = new Response(gzip.readable).bytes();
	const writer = gzip.writable.getWriter();
	const encoder = new TextEncoder();
	const write = (text: string) => writer.write(encoder.encode(text));
	try {
		await write(line);
		for await (const rows of pagesOf(db, stream, plan)) {
			let page = "";
			for (const row of rows) {
				number += 1;
				({ line, digest } = link({ number, ...toEntry(row, number) }, digest));
				page += line;
			}
			await write(page);
		}
		await writer.close();
	} catch (error) {
		await writer.abort(error);
		await body.catch(() => {});
		throw error;
	}
	const isWhole = number === stream.delivered_events + plan.count;
	return isWhole ? { plan: { ...plan, digest }, body: await body } : null;
}

/** Returns the file of a stored plan; null if its entries or their format have changed. */
export async function plannedFile(
	db: Database,
	stream: Stream,
	plan: AuditFile,
): Promise<File | null> {
	const file = await build(db, stream, plan);
	return file?.plan.digest === plan.digest ? file : null;
}

/** Returns the next file of a stream, with entries before `until`; null if there are none. */
export async function nextFile(db: Database, stream: Stream, until: string): Promise<File | null> {
	const plan = await planFile(db, stream, until);
	return plan && build(db, stream, plan);
}
