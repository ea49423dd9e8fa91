import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { MisconfiguredError } from "../../../src/outbound/errors.ts";
import { askS3, job, received, rows, run } from "../../support/exporting.ts";
import { opened } from "./adapters.ts";

const HOST = new URL(env.RECEIVER_URL).host;

const to = (more: object = {}) => opened("S3", { prefix: "trials", ...more });

describe("a test and a run report", () => {
	test.each([
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

test("a bucket that can be written but not listed passes a test", async () => {
	const endpoint_url = `${env.RECEIVER_URL}/unlisted`;
	const steps = ["reach", "sign in", "write", "remove"].map((name) => ({ name, error: null }));
	expect(await to({ endpoint_url }).test()).toEqual(steps);
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
