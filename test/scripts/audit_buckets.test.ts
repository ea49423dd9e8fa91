import { AwsClient } from "aws4fetch";
import { expect, test } from "vitest";
import { connect } from "../../scripts/operator.ts";
import { buckets, KEYS } from "../support/bucket.ts";
import { freePort } from "../support/peers.ts";
import { admin, discard, folder } from "../support/server.ts";
import { chained } from "./audit_files.ts";

/** The names and contents of the files of a stream. */
const filesOf = (files: string[][]) =>
	files.map(
		(lines, i) =>
			[`2026/11/22/${String(i + 1).padStart(10, "0")}-x.ndjson`, lines.join("")] as const,
	);

const verify = (place: string, environment: Record<string, string>) =>
	admin(["audit", "verify", place, "--json"], environment);

test("the files in a bucket of S3 are checked where they are", async () => {
	const { S3_URL } = await buckets();
	const { aws_access_key_id, aws_secret_access_key } = KEYS;
	const environment = {
		AWS_ACCESS_KEY_ID: aws_access_key_id,
		AWS_SECRET_ACCESS_KEY: aws_secret_access_key,
		AWS_REGION: "auto",
		AWS_ENDPOINT_URL: S3_URL,
	};
	const client = new AwsClient({
		accessKeyId: aws_access_key_id,
		secretAccessKey: aws_secret_access_key,
		region: "auto",
		service: "s3",
	});
	const prefix = `${crypto.randomUUID()}/logs`;
	const place = `s3://exports/${prefix}/`;
	const save = async (name: string, body: string) => {
		const stored = await client.fetch(`${S3_URL}/exports/${prefix}/${name}`, {
			method: "PUT",
			body,
		});
		expect(stored.status).toBe(200);
	};
	// More files than a list has keys.
	const { files, digest } = chained(Array.from({ length: 120 }, () => 1));
	for (const [name, body] of filesOf(files)) await save(name, body);
	const whole = await verify(place, environment);
	expect(whole.err).toBe("");
	expect(JSON.parse(whole.out)).toMatchObject({
		ok: true,
		streams: [{ files: 120, entries: 120, digest }],
	});
	const [second = ["", ""]] = filesOf(files).slice(1);
	await save(second[0], second[1].replace("Ü", "U"));
	const changed = await verify(place, environment);
	expect(changed.code).toBe(1);
	expect(JSON.parse(changed.out).problems[0]).toMatchObject({
		file: `${place}${second[0]}`,
		problem: "The line was changed: its digest doesn't match its content.",
	});
	const empty = await verify(`${place}nothing/`, environment);
	expect(empty.code).toBe(1);
	const wrong = await verify(place, { ...environment, AWS_SECRET_ACCESS_KEY: "x".repeat(64) });
	expect(wrong.code).toBe(2);
	expect(wrong.err + wrong.out).not.toContain("x".repeat(64));
	const dead = { ...environment, AWS_ENDPOINT_URL: `http://127.0.0.1:${await freePort()}` };
	expect((await verify(place, dead)).code).toBe(2);
	const { AWS_SECRET_ACCESS_KEY: _, ...keyless } = environment;
	expect(await verify(place, { ...keyless, AWS_SECRET_ACCESS_KEY: "" })).toMatchObject({
		code: 2,
		err: "s3://exports/ needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.\n",
	});
});

test("the files in a bucket of the local state are checked where they are", async () => {
	const STATE_DIR = folder();
	const bindings = { r2_buckets: [{ binding: "EXPORTS", bucket_name: "audit" }] };
	const { env, dispose } = await connect<Env>(bindings, `${STATE_DIR}/v3`);
	const { files, digest } = chained([3, 2]);
	for (const [name, body] of filesOf(files)) await env.EXPORTS.put(`logs/${name}`, body);
	await dispose();
	const { code, out, err } = await verify("r2://audit/logs/", { STATE_DIR });
	expect({ code, err }).toEqual({ code: 0, err: "" });
	expect(JSON.parse(out)).toMatchObject({ ok: true, streams: [{ files: 2, entries: 5, digest }] });
	discard(STATE_DIR);
});
