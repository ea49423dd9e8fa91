/**
 * What holds for every type of destination, as named cases without a test runner. An adapter says
 * which cases don't apply, because there is no server, or because its rows aren't shared.
 */

import { env } from "cloudflare:workers";
import assert from "node:assert/strict";
import { definitionOf, type Type } from "../../../src/exports/destinations/index.ts";
import type { Row } from "../../../src/exports/query/rows.ts";
import { MisconfiguredError } from "../../../src/outbound/errors.ts";
import { job, rows, run, type Target } from "../../support/exporting.ts";
import { ADAPTERS, type Adapter, opened } from "./adapters.ts";

export type Tested = Exclude<Type, "NoOp">;

type Case = {
	name: string;
	/** Whether it applies; by default to all. */
	appliesTo?: (adapter: Adapter) => boolean;
	run(adapter: Adapter, type: Tested): Promise<void>;
};

/** Fails unless these are the numbers below `n`. */
function assertAll(numbers: number[], n: number) {
	const isWhole = numbers.length === n && numbers.every((number, i) => number === i);
	assert.ok(
		isWhole,
		`There are ${numbers.length} rows, ${new Set(numbers).size} of them different, instead of ${n}.`,
	);
}

const hasServer = ({ at }: Adapter) => at !== undefined;

/** Fails unless a run and the last step of a test end with an error like this. */
async function assertFails(destination: Target, words: RegExp | string, isPermanent: boolean) {
	const error = await run(destination, job(), 1).then(
		() => assert.fail("The run succeeded."),
		(error: unknown) => error,
	);
	const pattern = typeof words === "string" ? new RegExp(RegExp.escape(words)) : words;
	assert.match(String(error instanceof Error ? error.message : error), pattern);
	assert.equal(error instanceof MisconfiguredError, isPermanent);
	const steps = await destination.test();
	const last = steps.at(-1);
	assert.match(last?.error ?? "", pattern);
	assert.ok(steps.slice(0, -1).every((step) => step.error === null));
	return { name: last?.name, message: `${error} ${last?.error}` };
}

/**
 * Writes `n` rows like the engine, which continues from the last stored state after each error that
 * may pass. Returns these errors.
 */
async function persist(destination: Target, n: number) {
	const what = job();
	const errors: unknown[] = [];
	let kept: { state: unknown; position: number } = { state: null, position: 0 };
	const keep = (state: unknown, position: number) => {
		kept = { state: structuredClone(state), position };
	};
	for (;;) {
		const sink = await destination.open(
			what,
			structuredClone(kept.state),
			async (state) => keep(state, kept.position),
			async () => structuredClone(kept.state),
		);
		try {
			for (let end = kept.position; end < n; ) {
				const page = rows(n).slice(end, end + 1000);
				end += page.length;
				const state = await sink.write(page);
				if (state !== null) keep(state, end);
			}
			await sink.close();
			return errors;
		} catch (error) {
			if (error instanceof MisconfiguredError || errors.length > 100) throw error;
			errors.push(error);
		} finally {
			sink.release?.();
		}
	}
}

/** Runs `act` while the first response to each request that may change something is lost. */
async function losingResponses<T>(act: () => Promise<T>) {
	const real = globalThis.fetch;
	const lost = new Set<string>();
	globalThis.fetch = async (input, init) => {
		const { method, url, headers } = input instanceof Request ? input : new Request(input, init);
		const response = await real(input, init);
		const request = [method, url, headers.get("idempotency-key")].join(" ");
		if (["GET", "HEAD"].includes(method) || lost.has(request)) return response;
		lost.add(request);
		await response.body?.cancel();
		throw new Error("Network connection lost.");
	};
	try {
		return await act();
	} finally {
		globalThis.fetch = real;
	}
}

/** A row that no format and no database takes without care. */
const poisoned = (row: Row): Row =>
	row.with(1, "\0 \ud800 \"'`\\\n,;--\u2028").with(2, '{"\\u0000":"\\ud83d","n":1e400');

const guarded: Env = { ...env, ALLOW_PRIVATE_DESTINATIONS: "false" };

/** Hosts that a user may enter to reach a network that only this service can reach. */
const PRIVATE = [
	"127.0.0.1",
	"127.1",
	"2130706433",
	"0x7f000001",
	"0177.0.0.1",
	"0.0.0.0",
	"10.0.0.5",
	"169.254.169.254",
	"192.168.1.1",
	"[::1]",
	"[::ffff:127.0.0.1]",
	"[::ffff:7f00:1]",
	"[fd00::1]",
	"localhost",
	"localhost.",
	"db.internal",
	"intranet",
];

export const CASES: Case[] = [
	{
		name: "no row, one row and a thousand rows are there once, whatever crashes",
		async run(adapter) {
			for (const n of [0, 1, 1000]) {
				const { to, numbers } = adapter.place();
				await run(to(), job(), n, { crashes: true });
				assertAll(await numbers(), n);
			}
		},
	},
	{
		name: "a run that is killed between two of its parts goes on",
		async run({ place, many }) {
			const { to, numbers } = place();
			const { kept, opened, largest } = await run(to(), job(), many, { crashes: true });
			assert.ok(kept > 0 && opened > 2);
			assert.ok(largest < 1_500_000);
			assertAll(await numbers(), many);
		},
	},
	{
		name: "a window that is exported again has each of its rows once, and others don't take them away",
		async run({ place, sharesRows }) {
			const { to, numbers } = place();
			const what = job();
			await run(to(), what, 500);
			await run(to(), { ...what, run_id: crypto.randomUUID() }, 500);
			if (sharesRows) await run(to(), job(), 0);
			assertAll(await numbers(), 500);
		},
	},
	{
		name: "runs that write the same rows at the same time write them once",
		appliesTo: ({ sharesRows }) => sharesRows === true,
		async run({ place }) {
			const { to, numbers } = place();
			const what = job();
			await Promise.all([false, true].map((backfill) => run(to(), { ...what, backfill }, 500)));
			assertAll(await numbers(), 500);
		},
	},
	{
		name: "rows are there once although responses to their requests were lost",
		appliesTo: ({ at, hasOwnProtocol }) => at !== undefined && !hasOwnProtocol,
		async run({ place }) {
			const { to, numbers } = place();
			const errors = await losingResponses(() => persist(to(), 1500));
			assert.ok(errors.length > 0);
			for (const error of errors) assert.match(String(error), /connection/);
			assertAll(await numbers(), 1500);
		},
	},
	{
		name: "an aborted run leaves nothing, can be aborted twice, and doesn't disturb the next",
		appliesTo: ({ appearsAtEnd }) => appearsAtEnd === true,
		async run({ place, many }) {
			const { to, numbers, names } = place();
			const what = job();
			const { state } = await run(to(), what, 2 * many, { until: 1.5 * many });
			assert.ok(state);
			assert.deepEqual(await names(), []);
			await to().abort(what, state);
			await run(to(), { ...what, run_id: crypto.randomUUID() }, many);
			assertAll(await numbers(), many);
		},
	},
	{
		name: "a row that is hard to encode stops no other row",
		async run({ place }) {
			const { to, numbers } = place();
			const sink = await to().open(job(), null, async () => {});
			try {
				await sink.write(rows(3).map((row, i) => (i === 1 ? poisoned(row) : row)));
				await sink.close();
			} finally {
				sink.release?.();
			}
			assertAll(await numbers(), 3);
		},
	},
	{
		name: "a test has the steps of the definition, and leaves nothing behind",
		async run({ place }, type) {
			const { to, names } = place();
			const steps = definitionOf(type).test.map((name) => ({ name, error: null }));
			assert.deepEqual(await to().test(), steps);
			assert.deepEqual(await names(), []);
		},
	},
	{
		name: "credentials that are rejected are an error of the user, which doesn't contain them",
		appliesTo: ({ rejected }) => rejected !== undefined,
		async run({ rejected }, type) {
			const { settings = {}, words = "", secret = "" } = rejected ?? {};
			const { name, message } = await assertFails(opened(type, settings), words, true);
			assert.equal(name, "sign in");
			assert.ok(!message.includes(secret));
		},
	},
	{
		name: "a server that isn't there can be tried again",
		appliesTo: hasServer,
		async run({ at }, type) {
			const destination = opened(type, at?.("http://127.0.0.1:1") ?? {});
			const words = /Nothing answers at 127\.0\.0\.1:1: /;
			assert.equal((await assertFails(destination, words, false)).name, "reach");
		},
	},
	{
		name: "a server that fails can be tried again",
		appliesTo: ({ at, hasOwnProtocol }) => at !== undefined && !hasOwnProtocol,
		async run({ at }, type) {
			for (const status of [408, 429, 500, 503]) {
				const settings = at?.(`${env.RECEIVER_URL}/status/${status}`) ?? {};
				await assertFails(opened(type, settings), new RegExp(` answered ${status}[.:]`), false);
			}
		},
	},
	{
		name: "a server that says nothing can be tried again",
		appliesTo: hasServer,
		async run({ at, hasOwnProtocol }, type) {
			const url = hasOwnProtocol ? new URL(env.DOH_SILENT).origin : `${env.RECEIVER_URL}/hang`;
			const destination = opened(type, at?.(url) ?? {}, { timeoutMs: 100 });
			await assertFails(destination, /did not answer within 0\.1 seconds/, false);
		},
	},
	{
		name: "a private address gets no request",
		appliesTo: hasServer,
		async run({ at }, type) {
			const port = Number(new URL(env.RECEIVER_URL).port);
			const origins = [...PRIVATE, "inside.example.test"].flatMap((host) =>
				[port, 443].map((at) => `http://${host}:${at}`),
			);
			for (const origin of origins) {
				const destination = opened(type, at?.(origin) ?? {}, { env: guarded });
				assert.equal((await assertFails(destination, /private/, true)).name, "reach");
			}
		},
	},
];

/** Those whose cases are part of `npm test`: one of each kind, with servers that start quickly. */
export const QUICK: Tested[] = ["S3", "R2", "HTTP", "Postgres"];

const isTested = (type: string): type is Tested => Object.hasOwn(ADAPTERS, type);

export const OTHERS = Object.keys(ADAPTERS)
	.filter(isTested)
	.filter((type) => !QUICK.includes(type));
