import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { Misconfigured } from "../../../src/exporter/destinations/destination.ts";
import { destinationOf } from "../../../src/exporter/destinations/index.ts";
import type { Column } from "../../../src/exporter/rows.ts";
import { job, received, rows, run } from "../../support/exporting.ts";
import { HANG_MS } from "../../support/hang.ts";

const TOKEN = "token-of-nobody";

const to = (path: string, token: string | null = TOKEN, patience = HANG_MS) =>
	destinationOf(env, "HTTP", { url: env.RECEIVER_URL + path, token }, patience);

/** A destination that says nothing, and isn't waited for for long. */
const silent = () => to("/hang", TOKEN, 300);

async function first(path: string) {
	const [one] = await received(path);
	if (!one) throw new Error("Nothing was received.");
	return one;
}

const fresh = (kind: string) => `/${kind}/${crypto.randomUUID()}`;

/** The numbers of the rows that were taken, in order. */
const taken = async (path: string) =>
	(await received(path)).flatMap(({ text }) =>
		JSON.parse(text).batch.map(({ team_id }: { team_id: number }) => team_id),
	);

const keysOf = async (path: string) =>
	(await received(path)).map(({ headers }) => headers["idempotency-key"]);

const numbers = (n: number) => Array.from({ length: n }, (_, i) => i);

test.each([0, 1, 1000, 100_001])(
	"%i rows arrive in batches of at most 1,000, whatever crashes",
	async (n) => {
		const path = fresh("batches");
		await run(to(path), job(), n, { crashes: true });
		expect(await taken(path)).toEqual(numbers(n));
	},
);

test("a batch says what it is, and who sends it", async () => {
	const path = fresh("batches");
	const what = job();
	await run(to(path), what, 1);
	const { headers, text, method } = await first(path);
	expect(method).toBe("POST");
	expect(headers).toMatchObject({
		"content-type": "application/json",
		authorization: `Bearer ${TOKEN}`,
		"idempotency-key": expect.stringMatching(/^[0-9a-f]{64}$/),
	});
	const body = JSON.parse(text);
	expect(Object.keys(body)).toEqual(["batch", "historical_migration"]);
	expect(body.historical_migration).toBe(true);
	expect(body.batch[0]).toMatchObject({ team_id: 0, paid: null });
});

test("without a token none is sent", async () => {
	const path = fresh("batches");
	await run(to(path, null), job(), 1);
	const { headers } = await first(path);
	expect(headers.authorization).toBeUndefined();
});

test("rows that are too many bytes for one batch are sent in several", async () => {
	const path = fresh("batches");
	const columns: Column[] = [
		{ name: "team_id", kind: "integer" },
		{ name: "text", kind: "text" },
	];
	const sink = await to(path).open(job({ columns }), null, async () => {});
	await sink.write(numbers(9).map((i) => [i, '"'.repeat(500_000)]));
	const batches = await received(path);
	expect(batches.length).toBe(3);
	for (const { text } of batches)
		expect(Buffer.byteLength(text)).toBeLessThanOrEqual(5_000_000);
	expect(await taken(path)).toEqual(numbers(9));
});

test("what failed is sent again with the same key, and taken once", async () => {
	const path = fresh("flaky");
	const destination = to(path);
	const what = job();
	const sink = await destination.open(what, null, async () => {});
	const page = rows(10);
	await expect(sink.write(page)).rejects.toThrow("503");
	expect(await sink.write(page)).toEqual({ batches: 1 });
	const [first, second] = await keysOf(path);
	expect(second).toBe(first);
	expect(await taken(path)).toEqual(numbers(10).concat(numbers(10)));
});

describe("the Idempotency-Key", () => {
	test("is the same for the same rows, whichever run of the export sends them", async () => {
		const path = fresh("batches");
		const what = job();
		await run(to(path), what, 3000);
		await run(to(path), { ...what, run_id: "another", backfill: true }, 3000);
		expect(await taken(path)).toEqual(numbers(3000));
	});

	test("is another one for other rows, another window and another export", async () => {
		const path = fresh("batches");
		const what = job();
		const others = [
			{},
			{ end: "2024-02-29T14:00:00.000Z" },
			{ export_id: "another" },
			{ columns: what.columns.slice(0, 5) },
		];
		for (const other of others) await run(to(path), { ...what, ...other }, 1);
		expect(new Set(await keysOf(path)).size).toBe(others.length);
		expect((await taken(path)).length).toBe(others.length);
	});

	test("tells batches apart whose rows are all alike", async () => {
		const path = fresh("batches");
		const what = job({
			columns: [{ name: "event", kind: "text" }],
			identified: false,
		});
		const destination = to(path);
		let state: unknown = null;
		for (let i = 0; i < 3; i++) {
			const sink = await destination.open(what, state, async () => {});
			state = await sink.write([["signed up"], ["signed up"]]);
		}
		expect((await received(path)).length).toBe(3);
	});
});

describe("what may pass is no misconfiguration", () => {
	test.each([
		["/status/500", "answered with the status 500"],
		["/status/503", "answered with the status 503"],
		["/status/429", "answered with the status 429"],
		["/status/408", "answered with the status 408"],
		["/close", "127.0.0.1"],
	])("%s", async (path, words) => {
		const failed = run(to(path), job(), 1);
		await expect(failed).rejects.toThrow(words);
		await expect(failed).rejects.not.toBeInstanceOf(Misconfigured);
	});

	test("silence", async () => {
		const failed = run(silent(), job(), 1);
		await expect(failed).rejects.toThrow("did not answer within 0.3 seconds");
		await expect(failed).rejects.not.toBeInstanceOf(Misconfigured);
	});
});

describe("what the user has to mend is", () => {
	test.each([
		["/status/400", "refuses what it gets (status 400)"],
		["/status/401", "refuses the token"],
		["/status/403", "refuses the token"],
		["/status/404", "refuses what it gets (status 404)"],
		["/redirect/302", "leads elsewhere"],
		["/redirect/307", "leads elsewhere"],
	])("%s", async (path, words) => {
		const failed = run(to(path), job(), 1);
		await expect(failed).rejects.toThrow(words);
		await expect(failed).rejects.toBeInstanceOf(Misconfigured);
		await expect(failed).rejects.not.toThrow(TOKEN);
	});
});

test("a trial posts an empty batch", async () => {
	const path = fresh("batches");
	expect(await to(path).test()).toEqual([
		{ name: "reach", error: null },
		{ name: "sign in", error: null },
	]);
	const { text } = await first(path);
	expect(JSON.parse(text)).toEqual({ batch: [], historical_migration: true });
});

test("a trial ends where it fails", async () => {
	expect(await to("/status/403").test()).toEqual([
		{ name: "reach", error: null },
		{ name: "sign in", error: expect.stringContaining("token") },
	]);
	expect(await silent().test()).toEqual([
		{ name: "reach", error: expect.stringContaining("did not answer") },
	]);
});

test("nothing is written nowhere", async () => {
	const nowhere = destinationOf(env, "NoOp", {});
	await run(nowhere, job(), 3000, { crashes: true });
	expect(await nowhere.test()).toEqual([]);
});
