import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { bucketUrl } from "../../../../src/outbound/buckets/s3.ts";
import { configs } from "../../../../src/outbound/destinations/configs.ts";
import { MisconfiguredError } from "../../../../src/outbound/errors.ts";
import { KEYS } from "../../../support/bucket.ts";
import {
	askS3,
	destinationOf,
	job,
	listR2,
	listS3,
	received,
	rows,
	run,
} from "../../../support/exporting.ts";
import { HANG_MS } from "../../../support/hang.ts";

const config = {
	bucket_name: "exports",
	region: "auto",
	prefix: "trials",
	endpoint_url: env.S3_URL,
	...KEYS,
};

const HOST = new URL(env.RECEIVER_URL).host;

const to = (more: object = {}, patience = HANG_MS) =>
	destinationOf(env, "S3", { ...config, ...more }, patience);

const steps = (...names: string[]) => names.map((name) => ({ name, error: null }));

test("a test leaves nothing behind", async () => {
	const prefix = crypto.randomUUID();
	expect(await to({ prefix }).test()).toEqual(steps("reach", "sign in", "write", "remove"));
	const r2 = destinationOf(env, "R2", { prefix });
	expect(await r2.test()).toEqual(steps("write", "remove"));
	expect(await listS3(prefix)).toEqual([]);
	expect(await listR2(`trials/${prefix}`)).toEqual([]);
});

describe("a test and a run report", () => {
	test.each([
		[
			"a wrong secret",
			{ aws_secret_access_key: "wrong" },
			"sign in",
			`The secret of the access key is wrong. ${new URL(env.S3_URL).host} answered 403: "SignatureDoesNotMatch: `,
		],
		["a wrong key", { aws_access_key_id: "wrong" }, "sign in", "access key"],
		[
			"no keys",
			{ aws_access_key_id: null, aws_secret_access_key: null },
			"sign in",
			"aws_access_key_id",
		],
		["no such bucket", { bucket_name: "elsewhere" }, "write", "There is no such bucket."],
		[
			"a bucket in another region",
			{ endpoint_url: `${env.RECEIVER_URL}/region/301` },
			"write",
			'The bucket is in the region "eu-north-1".',
		],
		[
			"a redirect to another region",
			{ endpoint_url: `${env.RECEIVER_URL}/region/307` },
			"write",
			'The bucket is in the region "eu-north-1".',
		],
		[
			"a redirect",
			{ endpoint_url: `${env.RECEIVER_URL}/redirect/302` },
			"write",
			"at another address",
		],
		[
			"a refusal",
			{ endpoint_url: `${env.RECEIVER_URL}/status/400` },
			"write",
			`The bucket rejected the request. ${HOST} answered 400: "Oops".`,
		],
	])("%s", async (_, more, name, words) => {
		const said = await to(more).test();
		expect(said.at(-1)).toEqual({
			name,
			error: expect.stringContaining(words),
		});
		const failed = run(to(more), job(), 1);
		await expect(failed).rejects.toThrow(words);
		await expect(failed).rejects.toBeInstanceOf(MisconfiguredError);
	});
});

test.each([500, 503, 429, 408])("status %i is temporary", async (status) => {
	const destination = to({
		endpoint_url: `${env.RECEIVER_URL}/status/${status}`,
	});
	const steps = await destination.test();
	expect(steps.at(-1)).toEqual({
		name: "write",
		error: `${HOST} answered ${status}: "Oops".`,
	});
	const failed = run(destination, job(), 1);
	await expect(failed).rejects.toThrow(`${HOST} answered ${status}`);
	await expect(failed).rejects.not.toBeInstanceOf(MisconfiguredError);
});

test("silence is temporary", async () => {
	const endpoint_url = `${env.RECEIVER_URL}/hang`;
	const failed = run(to({ endpoint_url }, 300), job(), 1);
	await expect(failed).rejects.toThrow("did not answer within 0.3 seconds");
	await expect(failed).rejects.not.toBeInstanceOf(MisconfiguredError);
});

test("a server that responds with 200 to everything is not accepted as a bucket", async () => {
	const endpoint_url = `${env.RECEIVER_URL}/anything`;
	const steps = await to({ endpoint_url }).test();
	expect(steps.at(-1)).toEqual({
		name: "write",
		error: expect.stringContaining("without an ETag"),
	});
	const failed = run(to({ endpoint_url }), job(), 1);
	await expect(failed).rejects.toBeInstanceOf(MisconfiguredError);
});

test("a bucket that can be written but not listed passes a test", async () => {
	const endpoint_url = `${env.RECEIVER_URL}/unlisted`;
	expect(await to({ endpoint_url }).test()).toEqual(steps("reach", "sign in", "write", "remove"));
});

test("a session token is sent", async () => {
	const id = crypto.randomUUID();
	const endpoint_url = `${env.RECEIVER_URL}/batches/${id}`;
	const prefix = "x";
	await run(to({ endpoint_url, prefix, aws_session_token: "s" }), job(), 1);
	const requests = await received(
		`/batches/${id}/exports/x/2024-02-29T12%3A00%3A00.000Z-2024-02-29T13%3A00%3A00.000Z.jsonl`,
	);
	expect(requests.length).toBeGreaterThan(0);
	for (const { headers } of requests)
		expect(headers).toMatchObject({ "x-amz-security-token": "s" });
});

test("requests for an object and an upload have the encryption headers, those for parts don't", async () => {
	const id = crypto.randomUUID();
	const destination = to({
		endpoint_url: `${env.RECEIVER_URL}/batches/${id}`,
		encryption: "aws:kms",
		kms_key_id: "arn:aws:kms:eu:1:key/2",
	});
	const key = "trials/2024-02-29T12:00:00.000Z-2024-02-29T13:00:00.000Z.jsonl"
		.split("/")
		.map(encodeURIComponent)
		.join("/");
	const path = `/batches/${id}/exports/${key}`;
	await run(destination, job(), 1);
	const sink = await destination.open(job(), null, async () => {});
	await expect(sink.write(rows(20_000))).rejects.toThrow("did not start an upload");
	const requests = await received(path);
	expect(requests.map(({ method, url }) => [method, url.split("?")[1]])).toEqual([
		["HEAD", undefined],
		["PUT", undefined],
		["HEAD", undefined],
		["POST", "uploads="],
	]);
	for (const { headers } of requests.filter(({ method }) => method !== "HEAD"))
		expect(headers).toMatchObject({
			"x-amz-server-side-encryption": "aws:kms",
			"x-amz-server-side-encryption-aws-kms-key-id": "arn:aws:kms:eu:1:key/2",
		});
});

test("a bucket with encryption stores all parts of an upload", async () => {
	const prefix = crypto.randomUUID();
	const ran = await run(to({ prefix, encryption: "AES256" }), job(), 30_000);
	expect(ran.kept).toBeGreaterThan(0);
	const key = `${prefix}/2024-02-29T12:00:00.000Z-2024-02-29T13:00:00.000Z.jsonl`;
	const response = await askS3("GET", `/${key.split("/").map(encodeURIComponent).join("/")}`);
	const text = new TextDecoder().decode(await response.arrayBuffer());
	const lines = text.trim().split("\n");
	expect(lines.map((line) => JSON.parse(line).team_id)).toEqual(
		Array.from({ length: 30_000 }, (_, i) => i),
	);
});

test.each([
	[{ endpoint_url: null, region: "eu-north-1" }, "https://s3.eu-north-1.amazonaws.com/exports"],
	[
		{
			endpoint_url: null,
			region: "eu-north-1",
			use_virtual_style_addressing: true,
		},
		"https://exports.s3.eu-north-1.amazonaws.com/",
	],
	[{ endpoint_url: "http://s3.example:9000/" }, "http://s3.example:9000/exports"],
	[
		{
			endpoint_url: "http://s3.example:9000/",
			use_virtual_style_addressing: true,
		},
		"http://exports.s3.example:9000/",
	],
])("%j is at %s", (more, url) => {
	expect(bucketUrl(configs.S3.parse({ ...config, ...more })).href).toBe(url);
});
