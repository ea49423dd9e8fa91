import { env } from "cloudflare:workers";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { Column } from "../../../src/exports/query/rows.ts";
import { MisconfiguredError } from "../../../src/outbound/errors.ts";
import { destinationOf, job, received, rows, run } from "../../support/exporting.ts";

afterEach(() => vi.restoreAllMocks());

const TOKEN = "token-of-nobody";

const to = (path: string, token: string | null = TOKEN) =>
	destinationOf(env, "HTTP", { url: env.RECEIVER_URL + path, token });

async function first(path: string) {
	const [one] = await received(path);
	if (!one) throw new Error("Nothing was received.");
	return one;
}

const fresh = (kind: string) => `/${kind}/${crypto.randomUUID()}`;

/** The numbers of the accepted rows, in order. */
const taken = async (path: string) =>
	(await received(path)).flatMap(({ text }) =>
		JSON.parse(text).batch.map(({ team_id }: { team_id: number }) => team_id),
	);

const keysOf = async (path: string) =>
	(await received(path)).map(({ headers }) => headers["idempotency-key"]);

const numbers = (n: number) => Array.from({ length: n }, (_, i) => i);

test("rows arrive in order, in batches of at most 1,000", async () => {
	const path = fresh("batches");
	await run(to(path), job(), 3001);
	expect(await taken(path)).toEqual(numbers(3001));
	expect((await received(path)).length).toBe(4);
});

test("a batch has a content type, the token and an Idempotency-Key", async () => {
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

test("without a token there is no Authorization header", async () => {
	const path = fresh("batches");
	await run(to(path, null), job(), 1);
	const { headers } = await first(path);
	expect(headers.authorization).toBeUndefined();
});

test("rows that are too large for one batch are sent in several", async () => {
	const path = fresh("batches");
	const columns: Column[] = [
		{ name: "team_id", kind: "integer" },
		{ name: "text", kind: "text" },
	];
	const sink = await to(path).open(job({ columns }), null, async () => {});
	await sink.write(numbers(9).map((i) => [i, '"'.repeat(500_000)]));
	const batches = await received(path);
	expect(batches.length).toBe(3);
	for (const { text } of batches) expect(Buffer.byteLength(text)).toBeLessThanOrEqual(5_000_000);
	expect(await taken(path)).toEqual(numbers(9));
});

test("a failed batch is sent again with the same key, and accepted once", async () => {
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

	test("is different for other rows, another window and another export", async () => {
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

	test("distinguishes batches whose rows are all equal", async () => {
		const path = fresh("batches");
		const what = job({
			columns: [{ name: "event", kind: "text" }],
			hasUuid: false,
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

const HOST = new URL(env.RECEIVER_URL).host;

/** A path that responds with the status and the text. */
const answering = (status: number, text: string | Uint8Array) =>
	`/body/${status}/${Buffer.from(text).toString("base64url")}`;

describe("a temporary error is not a misconfiguration", () => {
	test.each([
		["/status/425", `${HOST} answered 425: "Oops".`],
		["/status/409", `${HOST} answered 409: "Oops".`],
		["/body/502", `${HOST} answered 502.`],
		["/close", `The connection to ${HOST} was closed before the response was complete.`],
	])("%s", async (path, words) => {
		const failed = run(to(path), job(), 1);
		await expect(failed).rejects.toThrow(words);
		await expect(failed).rejects.not.toBeInstanceOf(MisconfiguredError);
	});

	test.each([409, 425, 429, 503])("status %i with Retry-After", async (status) => {
		const failed = run(to(`/status/${status}/7`), job(), 1);
		await expect(failed).rejects.toMatchObject({ retry_after: 7 });
	});

	test("a server without TLS", async () => {
		const failed = run(destinationOf(env, "HTTP", { url: `https://${HOST}/close` }), job(), 1);
		await expect(failed).rejects.toThrow(
			`The TLS connection to ${HOST} failed: the server doesn't offer TLS, or its certificate`,
		);
		await expect(failed).rejects.not.toBeInstanceOf(MisconfiguredError);
	});

	test.each([
		[521, "The server refuses connections."],
		[525, "The TLS handshake with the server failed."],
		[526, "The server's certificate is invalid: "],
		[530, "The server's host name has no address that can be reached."],
	])("status %i of Cloudflare, if there is no connection", async (status, words) => {
		const [step] = await to(answering(status, `error code: ${status}`)).test();
		expect(step?.error).toContain(words);
		expect(step?.error).toContain(`${HOST} answered ${status}: "error code: ${status}".`);
	});

	test("a name without an address", async () => {
		vi.spyOn(globalThis, "fetch").mockImplementationOnce(async () => {
			throw new Error("internal error; reference = 1");
		});
		const url = "http://nowhere.example.test/";
		const failed = run(destinationOf(env, "HTTP", { url }), job(), 1);
		await expect(failed).rejects.toThrow("The name nowhere.example.test has no address.");
	});
});

describe("the user has to fix", () => {
	test.each([
		["/status/400", `The receiver rejected the request. ${HOST} answered 400: "Oops".`],
		["/status/403", "The receiver, or a firewall in front of it, doesn't allow the request"],
		["/status/404", `${HOST} answered 404: "Oops".`],
		["/redirect/307", "The url redirects"],
	])("%s", async (path, words) => {
		const failed = run(to(path), job(), 1);
		await expect(failed).rejects.toThrow(words);
		await expect(failed).rejects.toBeInstanceOf(MisconfiguredError);
		await expect(failed).rejects.not.toThrow(TOKEN);
	});
});

describe("of the receiver's message, an error quotes", () => {
	const shown = async (path: string, token?: string) =>
		(await to(path, token).test()).at(-1)?.error;

	test("the start, on one line", async () => {
		const text = `{"error":\n\t"Too ${"much".repeat(100)}`;
		expect(await shown(answering(400, text))).toBe(
			`The receiver rejected the request. ${HOST} answered 400: "${text.replace("\n\t", " ").slice(0, 300)}".`,
		);
	});

	test("the text of a page", async () => {
		const page = `<!doctype html><style>p { color: red }</style><title>Bad
			Gateway</title><script>run("<p>")</script><p>It&#39;s <b>down</b> &amp; out</p>`;
		expect(await shown(answering(502, page))).toBe(
			`${HOST} answered 502: "Bad Gateway It's down & out".`,
		);
	});

	test("nothing of binary data", async () => {
		const bytes = Uint8Array.of(0x1f, 0x8b, 0, 0xff);
		expect(await shown(answering(503, bytes))).toBe(`${HOST} answered 503.`);
	});

	test.each([TOKEN, 'a&b"c/ü+d e?>~', "four"])("the secret %s in no form", async (token) => {
		for (const status of [400, 401, 500]) {
			const header = token.replace("ü", "u");
			const words = (await shown(`/echo/${status}`, header)) ?? "";
			expect(words).toContain(`${HOST} answered ${status}: "***`);
			const base64 = Buffer.from(header).toString("base64").slice(0, -4);
			for (const form of [
				header,
				encodeURIComponent(header),
				JSON.stringify(header).slice(1, -1),
				base64,
			])
				expect(words).not.toContain(form);
		}
	});

	test("everything that isn't secret, whatever the secret is", async () => {
		expect(await shown("/status/403", "token")).toBe(
			`The receiver, or a firewall in front of it, doesn't allow the request: check the token, and whether the firewall refuses this service's User-Agent. ${HOST} answered 403: "Oops".`,
		);
	});
});

test("a test posts an empty batch", async () => {
	const path = fresh("batches");
	expect(await to(path).test()).toEqual([
		{ name: "reach", error: null },
		{ name: "sign in", error: null },
	]);
	const { text } = await first(path);
	expect(JSON.parse(text)).toEqual({ batch: [], historical_migration: true });
});

test("NoOp accepts rows and writes nothing", async () => {
	const nowhere = destinationOf(env, "NoOp", {});
	await run(nowhere, job(), 3000, { crashes: true });
	expect(await nowhere.test()).toEqual([]);
});
