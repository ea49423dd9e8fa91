import { drizzle } from "drizzle-orm/d1";
import type { Database } from "../../db/client.ts";
import type { AuditFile } from "../../db/schema/audit_streams.ts";
import { canSign, selectSigner, sign } from "../../keys/signing_keys.ts";
import { FORMAT, type Head, type Header, link, type Signature } from "./chain.ts";
import { type Planned, pagesOf, planFile, type Stream } from "./entries.ts";
import { entryWriter } from "./formats.ts";
import type { File } from "./sinks/sink.ts";

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

/** What a file is built from. `sign` returns the signed head; null if the service can't sign. */
type Contents = {
	stream: Stream;
	plan: Planned;
	sign: (head: Head) => Promise<string | null>;
};

/**
 * Builds a file in one pass, so that memory contains only its compressed bytes and one page of
 * entries.
 * @returns null if an entry of the plan no longer exists
 */
async function build(db: Database, { stream, plan, sign }: Contents): Promise<File | null> {
	const { format, ...header } = headerOf(stream, plan);
	let { line, digest } = link({ format, ...header }, stream.digest);
	let signature: string | null = null;
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
		signature = await sign({ ...header, head: digest });
		if (signature !== null) {
			({ line, digest } = link({ signature } satisfies Signature, digest));
			await write(line);
		}
		await writer.close();
	} catch (error) {
		await writer.abort(error);
		await body.catch(() => {});
		throw error;
	}
	const isWhole = number === stream.delivered_events + plan.count;
	return isWhole ? { plan: { ...plan, signature, digest }, body: await body } : null;
}

/** Returns the file of a stored plan; null if its entries or their format have changed. */
export async function plannedFile(
	db: Database,
	stream: Stream,
	plan: AuditFile,
): Promise<File | null> {
	const file = await build(db, { stream, plan, sign: async () => plan.signature });
	return file?.plan.digest === plan.digest ? file : null;
}

/** Signs the head of a file (docs/audit.md#signed-heads). */
async function signHead(env: Env, head: Head) {
	if (!canSign(env)) return null;
	const [signer] = await selectSigner(drizzle(env.DB));
	return sign(env, signer, "audit-head+jwt", head);
}

/** Returns the next file of a stream, with entries before `until`; null if there are none. */
export async function nextFile(env: Env, stream: Stream, until: string): Promise<File | null> {
	const db = drizzle(env.DB);
	const plan = await planFile(db, stream, until);
	return plan && build(db, { stream, plan, sign: (head) => signHead(env, head) });
}
