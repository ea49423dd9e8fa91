import { env } from "cloudflare:workers";
import { eq, sql } from "drizzle-orm";
import { expect, onTestFinished } from "vitest";
import { genesis } from "../../../src/activity/audit_streams/chain.ts";
import { deliverDue } from "../../../src/activity/audit_streams/deliver.ts";
import { auditStreams } from "../../../src/db/schema/audit_streams.ts";
import { organizationId } from "../../../src/db/schema/organizations.ts";
import { RETOTAL } from "../../support/activity.ts";
import { KEYS } from "../../support/bucket.ts";
import { checked } from "../../support/jws.ts";
import { published } from "../../support/published.ts";
import { db, world } from "../../support/world.ts";

/** Delivers the streams that are due at a time. */
export const deliver = (on: Env, at: number) => deliverDue(on, { audit_streams: at });

export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;
export const iso = (at: number) => new Date(at).toISOString();

/** A full hour. No test reaches the hour before it, although an hour may end during a test. */
export const hour = (Math.floor(Date.now() / HOUR) + 3) * HOUR;

/** After the pauses of all streams. */
export const LATE = hour + 10 * 60_000;

export const s3 = (more: object = {}) => ({
	type: "S3",
	config: {
		bucket_name: "exports",
		region: "auto",
		prefix: "audit",
		endpoint_url: env.S3_URL,
		...KEYS,
		...more,
	},
});

export const at = (path: string) => s3({ endpoint_url: `${env.RECEIVER_URL}${path}` });

type Row = Partial<typeof auditStreams.$inferInsert>;

/**
 * An organization with a stream. Other tests' streams are paused, so that ticks deliver only this
 * one.
 * @param entries how many entries its log has besides
 */
export async function streaming(
	destination: object = { type: "R2", config: { prefix: "" } },
	entries = 0,
) {
	await db.update(auditStreams).set({ next_attempt_at: null });
	const home = await world();
	await fill(home.id, entries);
	const { body } = await home.here("POST", "/audit_streams", {
		body: { name: "Archive", destination },
	});
	const path = `/audit_streams/${body.id}`;
	const its = eq(auditStreams.id, body.id);
	return {
		...home,
		stream: String(body.id),
		show: async () => (await home.here("GET", path)).body,
		change: async (row: Row) => db.update(auditStreams).set(row).where(its),
		patch: (body: object) => home.here("PATCH", path, { body }),
		files: () => filesOf(`audit/${home.id}/${body.id}/`),
		row: async () => (await db.select().from(auditStreams).where(its))[0],
	};
}

/** Writes entries into an organization's log. */
export async function fill(
	organization_id: string,
	entries: number,
	created_at = iso(hour - 2 * HOUR),
) {
	for (let done = 0; done < entries; done += 5000)
		await db.run(sql`insert into activity_log (organization_id, activity, scope, item_id, name, changes, created_at)
			select ${organizationId(organization_id)}, 'updated', 'Project', value, 'Projekt ü ' || value,
				'[{"field":"name","action":"changed","before":"a","after":"\u2028"}]', ${Date.parse(created_at)}
			from (with recursive n(value) as (values(${done}) union all select value + 1 from n where value + 1 < ${Math.min(done + 5000, entries)}) select value from n)`);
	await db.run(RETOTAL);
}

/** The content of a compressed file. */
export async function unpacked(file = new ArrayBuffer(0)) {
	const stream = new Blob([file]).stream().pipeThrough(new DecompressionStream("gzip"));
	const text = await new Response(stream).text();
	return { bytes: new Uint8Array(file).toBase64(), text, lines: text.trimEnd().split("\n") };
}

/** The files below a folder of the worker's bucket: their keys and lines. */
export async function filesOf(prefix: string) {
	const { objects } = await env.EXPORTS.list({ prefix });
	return Promise.all(
		objects.map(async ({ key, etag, uploaded }) => {
			const object = await env.EXPORTS.get(key);
			return { key, etag, uploaded, ...(await unpacked(await object?.arrayBuffer())) };
		}),
	);
}

// biome-ignore lint/suspicious/noExplicitAny: lines have two forms
export const parsed = (lines: string[]): any[] => lines.map((line) => JSON.parse(line));

/**
 * An environment whose next write to the stream's row after `after` others fails, as if the isolate
 * was killed.
 */
export const killed = (matches: (query: string) => boolean): Env => {
	let isKilled = false;
	const prepare = (query: string) => {
		if (matches(query)) isKilled = true;
		if (isKilled) throw new Error("killed");
		return env.DB.prepare(query);
	};
	return {
		...env,
		DB: Object.assign(Object.create(env.DB), {
			prepare,
			batch: (statements: D1PreparedStatement[]) => {
				if (isKilled) throw new Error("killed");
				return env.DB.batch(statements);
			},
		}),
	};
};

export const quietly = () => {
	const { error } = console;
	console.error = () => {};
	onTestFinished(() => {
		console.error = error;
	});
};

/** The first line of a file, its entries, and its last line, which has the signed head. */
export function partsOf({ lines }: { lines: string[] } = { lines: [] }) {
	const [header, ...rest] = parsed(lines);
	return { header, entries: rest.slice(0, -1), last: rest.at(-1) };
}

const sha256 = async (text: string) =>
	new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))).toHex();

/**
 * Checks that files are one chain without a gap, up to this digest, with signed heads. Returns the
 * ids of their entries.
 */
export async function chained(stream: string, files: { lines: string[] }[], head: string) {
	let digest = genesis(stream);
	const ids: string[] = [];
	const { set } = await published();
	for (const [i, { lines }] of files.entries()) {
		const { header, entries, last } = partsOf({ lines });
		const numbers = { first: ids.length + 1, last: ids.length + entries.length };
		expect(header).toMatchObject({ stream, sequence: i + 1, count: entries.length, ...numbers });
		for (const line of lines) {
			const [, json, own] = /^(.*),"digest":"([0-9a-f]{64})"}$/s.exec(line) ?? [];
			expect(JSON.parse(line).previous).toBe(digest);
			expect(own).toBe(await sha256(`${json}}`));
			digest = String(own);
		}
		const signed = await checked(last.signature, set);
		expect(signed.header).toMatchObject({ alg: "EdDSA", typ: "audit-head+jwt" });
		const { format: _, previous: __, digest: ___, ...facts } = header;
		expect(signed.claims).toEqual({
			...facts,
			head: entries.at(-1)?.digest,
			iat: expect.any(Number),
			iss: new URL(env.APP_URL).origin,
		});
		ids.push(...entries.map(({ id }) => id));
	}
	expect(digest).toBe(head);
	return ids;
}
