import { env } from "cloudflare:workers";
import { afterEach, describe, expect, test, vi } from "vitest";
import { MINUTE_MS } from "../../../src/lib/time.ts";
import { ACCOUNT } from "../../support/bigquery.ts";
import { clouds, PROVIDER, ROLE, SERVICE_ACCOUNT } from "../../support/clouds.ts";
import { destinationOf, job, listS3, rows, run } from "../../support/exporting.ts";
import { HANG_MS } from "../../support/hang.ts";
import { NAMESPACE, TOKEN } from "../../support/iceberg.ts";
import { missing } from "../../support/missing.ts";
import { MOTO_BUCKET, MOTO_ROLE } from "../../support/moto.ts";
import { missingIceberg } from "./adapters.ts";
import { ALL } from "./iceberg_tables.ts";
import { CASES, testRefusals } from "./keyless.ts";

afterEach(() => {
	vi.restoreAllMocks();
	vi.useRealTimers();
});

const SUBJECT = "organization:1:project:2:batch_export:3";

const open = (type: "S3" | "BigQuery" | "Iceberg", config: object) =>
	destinationOf(env, type, config, { timeoutMs: HANG_MS, subject: SUBJECT });

const PASSED = ["reach", "sign in", "write", "remove"].map((name) => ({ name, error: null }));

test("credentials are replaced before they expire, in the middle of a run", async () => {
	const cloud = clouds({ sub: SUBJECT, lifetime: 8 * 60 });
	const prefix = `roles/${crypto.randomUUID()}`;
	const config = { bucket_name: "exports", region: "eu-west-1", prefix, role_arn: ROLE };
	const sink = await open("S3", config).open(job(), null, async () => {});
	await sink.write(rows(20_000));
	expect(cloud.exchanges).toHaveLength(1);
	// The clock of the bucket may differ by a quarter of an hour.
	vi.setSystemTime(Date.now() + 2 * MINUTE_MS);
	await sink.write(rows(20_000));
	expect(cloud.exchanges).toHaveLength(1);
	vi.setSystemTime(Date.now() + 2 * MINUTE_MS);
	cloud.issued.clear();
	await sink.write(rows(20_000));
	await sink.close();
	expect(cloud.exchanges).toHaveLength(2);
	expect(await listS3(prefix)).toHaveLength(1);
	expect(new Set(cloud.tokens).size).toBe(2);
});

testRefusals(CASES);

const noBigQuery = await missing("BigQuery", `${env.BIGQUERY_URL}/sql`, {
	method: "POST",
	body: "select 1 as one",
});

test.skipIf(noBigQuery).each([
	["a principal", {}],
	["a service account", { client_email: SERVICE_ACCOUNT }],
])(`BigQuery accepts the token of %s${noBigQuery}`, async (_, more) => {
	const cloud = clouds({ sub: SUBJECT });
	const { project_id, dataset_id } = ACCOUNT;
	const table_id = `t_${crypto.randomUUID()}`;
	const config = {
		...{ project_id, dataset_id, table_id, workload_identity_provider: PROVIDER },
		...more,
	};
	expect(await open("BigQuery", config).test()).toEqual(PASSED);
	await run(open("BigQuery", config), job(), 30);
	const found = await fetch(`${env.BIGQUERY_URL}/sql`, {
		method: "POST",
		body: `select count(*) as n from exports.\`${table_id}\``,
	});
	expect(await found.json()).toEqual([{ n: "30" }]);
	expect(new Set(cloud.exchanges.map((url) => new URL(url).hostname)).size).toBe(
		Object.keys(more).length + 1,
	);
});

const noIceberg = await missingIceberg();

const noMoto = await missing("moto", `${env.MOTO_URL}/moto-api/`);

describe.skipIf(noMoto)(`moto${noMoto}`, () => {
	/** Lets requests to STS reach moto, which requires signatures even there. */
	function throughMoto() {
		const real = globalThis.fetch;
		const auth = (after: string) =>
			real(`${env.MOTO_URL}/moto-api/reset-auth`, { method: "POST", body: after });
		const asked: string[] = [];
		vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
			const url = new URL(input instanceof Request ? input.url : String(input));
			if (!url.hostname.startsWith("sts.")) return real(input, init);
			asked.push(url.href);
			await auth("inf");
			const body = await new Request(input, init).text();
			const headers = { "content-type": "application/x-www-form-urlencoded" };
			const answer = await real(env.MOTO_URL, { method: "POST", body, headers });
			await auth("0");
			return answer;
		});
		return asked;
	}

	const config = {
		...{ bucket_name: MOTO_BUCKET, region: "us-east-1", endpoint_url: env.MOTO_URL },
		...{ prefix: "allowed", role_arn: MOTO_ROLE },
	};

	test("a role's temporary keys write files, and are accepted as signed", async () => {
		const asked = throughMoto();
		expect(await open("S3", config).test()).toEqual(PASSED);
		// moto doesn't verify the signature of a key with colons.
		await run(open("S3", { ...config, prefix: "allowed/{window}" }), job(), 100);
		expect(new Set(asked)).toEqual(new Set(["https://sts.us-east-1.amazonaws.com/"]));
	});

	test("a role without a permission is named", async () => {
		throughMoto();
		expect((await open("S3", { ...config, prefix: "elsewhere" }).test()).at(-1)).toEqual({
			name: "write",
			error: expect.stringContaining("The role lacks a permission in the bucket"),
		});
	});

	/** Creates a table of Iceberg whose files are in moto's bucket. */
	async function tableIn(folder: string) {
		const table_name = `t-${crypto.randomUUID()}`;
		const response = await fetch(`${env.ICEBERG_URL}/v1/namespaces/${NAMESPACE}/tables`, {
			method: "POST",
			headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
			body: JSON.stringify({
				name: table_name,
				schema: { type: "struct", fields: ALL.map((field, i) => ({ id: i + 1, ...field })) },
				location: `s3://${MOTO_BUCKET}/${folder}/${table_name}`,
				properties: { "format-version": "2" },
			}),
		});
		expect(response.status).toBe(200);
		return open("Iceberg", {
			...{ catalog_uri: env.ICEBERG_URL, namespace: NAMESPACE, token: TOKEN, table_name },
			...{ region: config.region, endpoint_url: env.MOTO_URL, role_arn: MOTO_ROLE },
		});
	}

	test.skipIf(noIceberg)(
		`a role's temporary keys write a table of Iceberg where it may${noIceberg}`,
		async () => {
			throughMoto();
			const table = await tableIn("allowed");
			expect(await table.test({ job: job(), rows: rows(1) })).toEqual(PASSED);
			// The second run reads the manifests of the first, and replaces its files.
			const what = job();
			await run(table, what, 100);
			await run(table, what, 50);
			const elsewhere = await tableIn("elsewhere");
			expect((await elsewhere.test({ job: job(), rows: rows(1) })).at(-1)).toEqual({
				name: "write",
				error: expect.stringContaining("The role lacks a permission in the bucket"),
			});
		},
	);

	test("a key that nobody issued isn't accepted", async () => {
		const { role_arn: _, ...keyed } = config;
		const key = { aws_access_key_id: "AKIAUNKNOWN", aws_secret_access_key: "x" };
		expect((await open("S3", { ...keyed, ...key }).test()).at(-1)).toMatchObject({
			error: expect.stringContaining("There is no such access key."),
		});
	});
});
