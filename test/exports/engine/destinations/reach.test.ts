import { env } from "cloudflare:workers";
import { describe, expect, test, vi } from "vitest";
import type { Type } from "../../../../src/outbound/destinations/config.ts";
import { MisconfiguredError } from "../../../../src/outbound/errors.ts";
import { ACCOUNT } from "../../../support/azurite.ts";
import { ACCOUNT as SERVICE_ACCOUNT } from "../../../support/bigquery.ts";
import { KEYS } from "../../../support/bucket.ts";
import { destinationOf, job, rows, run } from "../../../support/exporting.ts";

const guarded: Env = { ...env, ALLOW_PRIVATE_DESTINATIONS: "false" };

/** Hosts that a user may enter to reach a network that only this service can reach. */
const HOSTS = [
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

/** A destination of each type at the host and the port. */
const destinations: [Type, (host: string, port: number) => object][] = [
	[
		"S3",
		(host, port) => ({
			bucket_name: "exports",
			region: "auto",
			prefix: "",
			endpoint_url: `http://${host}:${port}`,
			...KEYS,
		}),
	],
	[
		"AzureBlob",
		(host, port) => ({
			container_name: "exports",
			prefix: "",
			...ACCOUNT,
			endpoint_url: `http://${host}:${port}`,
		}),
	],
	[
		"GCS",
		(host, port) => ({
			bucket_name: "exports",
			prefix: "",
			hmac_access_id: "id",
			hmac_secret: "secret",
			endpoint_url: `http://${host}:${port}`,
		}),
	],
	["HTTP", (host, port) => ({ url: `http://${host}:${port}/` })],
	[
		"Postgres",
		(host, port) => ({
			user: "owner",
			password: "password",
			database: "postgres",
			host,
			port,
		}),
	],
	["ClickHouse", (host, port) => ({ url: `http://${host}:${port}/`, database: "default" })],
	[
		"BigQuery",
		(host, port) => ({
			...SERVICE_ACCOUNT,
			private_key: env.BIGQUERY_PRIVATE_KEY,
			token_uri: `http://${host}:${port}/token`,
			endpoint_url: `http://${host}:${port}`,
		}),
	],
];

const port = Number(new URL(env.RECEIVER_URL).port);

describe.each(destinations)("%s doesn't connect to", (type, at) => {
	test.each(
		HOSTS.flatMap((host): [string, number][] => [
			[host, port],
			[host, 443],
		]),
	)("%s, port %i", async (host, port) => {
		const destination = destinationOf(guarded, type, at(host, port));
		expect(await destination.test()).toEqual([
			{ name: "reach", error: expect.stringMatching(/private/) },
		]);
		await expect(run(destination, job(), 1)).rejects.toBeInstanceOf(MisconfiguredError);
	});

	test("a name that resolves to such an address", async () => {
		const destination = destinationOf(guarded, type, at("inside.example.test", port));
		await expect(run(destination, job(), 1)).rejects.toThrow(
			"resolves to the private address 10.0.0.5",
		);
	});
});

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
