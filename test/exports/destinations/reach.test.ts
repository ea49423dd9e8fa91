import { env } from "cloudflare:workers";
import { describe, expect, test, vi } from "vitest";
import { MisconfiguredError, UnavailableError } from "../../../src/outbound/errors.ts";
import { ACCOUNT as SERVICE_ACCOUNT } from "../../support/bigquery.ts";
import { KEYS } from "../../support/bucket.ts";
import { destinationOf, job, rows, run } from "../../support/exporting.ts";
import { ADAPTERS, opened } from "./adapters.ts";
import type { Tested } from "./conformance.ts";

const guarded: Env = { ...env, ALLOW_PRIVATE_DESTINATIONS: "false" };

const port = Number(new URL(env.RECEIVER_URL).port);

test("BigQuery's API host is checked, not only its token server", async () => {
	const destination = destinationOf(guarded, "BigQuery", {
		...SERVICE_ACCOUNT,
		private_key: env.BIGQUERY_PRIVATE_KEY,
		token_uri: "https://93.184.215.14/token",
		endpoint_url: `http://127.0.0.1:${port}`,
	});
	expect(await destination.test()).toEqual([
		{ name: "reach", error: "127.0.0.1 is a private address." },
	]);
});

test("a virtual-style bucket's host is checked as a whole", async () => {
	const destination = destinationOf(guarded, "S3", {
		bucket_name: "inside",
		region: "auto",
		prefix: "",
		endpoint_url: "http://internal",
		use_virtual_style_addressing: true,
		...KEYS,
	});
	expect(await destination.test()).toEqual([
		{ name: "reach", error: expect.stringContaining("inside.internal") },
	]);
});

/** A path below which everything is a redirect. */
const REDIRECT = "/redirect/302";
/** A path below which the response to everything is 200. */
const ANYTHING = "/anything";

test.each<[Tested, path: string, words: string]>([
	["S3", REDIRECT, "at another address"],
	["S3", ANYTHING, "without an ETag"],
	["GCS", REDIRECT, "at another address"],
	["GCS", ANYTHING, "without an ETag"],
	["AzureBlob", REDIRECT, "doesn't respond like Blob Storage: check endpoint_url."],
	["AzureBlob", ANYTHING, "didn't confirm"],
	["HTTP", REDIRECT, "The url redirects"],
	["ClickHouse", REDIRECT, "The url redirects"],
	["ClickHouse", ANYTHING, "doesn't respond like ClickHouse."],
	["BigQuery", REDIRECT, "doesn't respond like a token server (status 302): check token_uri."],
	["BigQuery", ANYTHING, "doesn't respond like a token server"],
])("%s whose server is none of its kind is an error of the user: %s", async (type, path, words) => {
	const destination = opened(type, ADAPTERS[type].at?.(env.RECEIVER_URL + path) ?? {});
	const failed = run(destination, job(), 1);
	await expect(failed).rejects.toThrow(words);
	await expect(failed).rejects.toBeInstanceOf(MisconfiguredError);
	expect((await destination.test()).at(-1)?.error).toContain(words);
});

test("a cut list of a ClickHouse table's columns is temporary", async () => {
	const list = Buffer.from('["uuid","String"]\n["team_id","UI').toString("base64url");
	const url = `${env.RECEIVER_URL}/body/200/${list}`;
	const failed = run(destinationOf(env, "ClickHouse", { url, database: "default" }), job(), 1);
	await expect(failed).rejects.toThrow("The response doesn't have all columns of the table.");
	await expect(failed).rejects.toBeInstanceOf(UnavailableError);
});

test("a failure of the resolver is temporary", async () => {
	const lost = { ...guarded, DOH_URL: env.DOH_NOBODY };
	const destination = destinationOf(lost, "HTTP", {
		url: "https://example.com",
	});
	const failed = run(destination, job(), 1);
	await expect(failed).rejects.toThrow("The resolver ");
	await expect(failed).rejects.not.toBeInstanceOf(MisconfiguredError);
});

/** An HTTP destination whose host is looked up, and the questions that the resolver got for it. */
function looking(host: string, { path = "/batches/x", at = port } = {}) {
	const DOH_URL = `${env.DOH_URL}?of=${crypto.randomUUID()}`;
	const url = `http://${host}.receiver.test:${at}${path}`;
	const questions = async (): Promise<string[]> => (await fetch(DOH_URL)).json();
	const open = () => destinationOf({ ...guarded, DOH_URL }, "HTTP", { url });
	return { open, questions };
}

describe("the resolver is queried", () => {
	test.each(["both", "legacy"])("once for many requests of a run: %s", async (host) => {
		const { open, questions } = looking(host);
		await run(open(), job(), 5000);
		expect((await questions()).sort()).toEqual([
			`${host}.receiver.test A`,
			`${host}.receiver.test AAAA`,
		]);
	});

	test("again for the next run", async () => {
		const { open, questions } = looking("both");
		await run(open(), job(), 1);
		await run(open(), job(), 1);
		expect(await questions()).toHaveLength(4);
	});

	test("before each request if an answer may not be kept", async () => {
		const { open, questions } = looking("fleeting");
		await run(open(), job(), 5000);
		expect(await questions()).toHaveLength(10);
	});

	test.each(["both", "lasting"])("again after a minute: %s", async (host) => {
		const { open, questions } = looking(host);
		let clock = Date.now();
		const now = vi.spyOn(Date, "now").mockImplementation(() => clock);
		const sink = await open().open(job(), null, async () => {});
		for (const seconds of [0, 59, 2, 59]) {
			clock += seconds * 1000;
			await sink.write(rows(1));
		}
		now.mockRestore();
		expect(await questions()).toHaveLength(4);
	});

	test("again when a connection fails", async () => {
		const { open, questions } = looking("both", { path: "/close" });
		await expect(run(open(), job(), 1)).rejects.toThrow("both.receiver.test");
		// At first, after the failure, and to find out whether the name has an address.
		expect(await questions()).toHaveLength(6);
	});
});
