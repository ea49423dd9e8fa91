import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { MisconfiguredError } from "../../../src/outbound/errors.ts";
import { job, listS3, rows, run } from "../../support/exporting.ts";
import { opened } from "./adapters.ts";

const window = "2024-02-29T12:00:00.000Z-2024-02-29T13:00:00.000Z";

const to = (more: object = {}) => opened("GCS", { prefix: "trials", ...more });

describe("files of an earlier run that the key", () => {
	/**
	 * Exports a window, then again in another format. Returns what the second run warns of, and the
	 * objects.
	 */
	async function twice(prefix: string) {
		const what = job();
		await run(to({ prefix, file_format: "CSV" }), what, 1);
		const sink = await to({ prefix }).open(what, null, async () => {});
		await sink.write([...rows(1)]);
		const { warnings } = await sink.close();
		const names = (await listS3(prefix)).map((key) => key.split("/").at(-1));
		return { warnings, names };
	}

	test("may not delete are named", async () => {
		const prefix = `kept/${crypto.randomUUID()}`;
		const { warnings, names } = await twice(prefix);
		expect(warnings).toEqual([
			expect.stringContaining(
				`Remove them: ${prefix}/${window}.csv. The HMAC key's account lacks a permission in the bucket`,
			),
		]);
		expect(names).toEqual([`${window}.csv`, `${window}.jsonl`]);
	});
});

describe("a test and a run report", () => {
	const google = new URL(env.GCS_URL).host;
	test.each([
		[
			"no HMAC key",
			{ hmac_access_id: null, hmac_secret: null },
			"sign in",
			"Requests can't be signed without hmac_access_id and hmac_secret.",
		],
		[
			"an HMAC key that doesn't exist",
			{ hmac_access_id: "GOOG1NOBODY" },
			"sign in",
			`There is no such HMAC key, or it is inactive. ${google} answered 403: "InvalidSecurity: The provided security credentials are not valid. Access key could not be found."`,
		],
		["no such bucket", { bucket_name: "elsewhere" }, "write", "There is no such bucket."],
		[
			"a permission that is missing",
			{ prefix: "refused" },
			"write",
			`The HMAC key's account lacks a permission in the bucket: it needs the role Storage Object User. ${google} answered 403: "AccessDenied: Access denied. exporter@project.iam.gserviceaccount.com does not have storage.objects.create access to the Google Cloud Storage object."`,
		],
	])("%s", async (_, more, name, words) => {
		expect((await to(more).test()).at(-1)).toEqual({
			name,
			error: expect.stringContaining(words),
		});
		const failed = run(to(more), job(), 1);
		await expect(failed).rejects.toThrow(words);
		await expect(failed).rejects.toBeInstanceOf(MisconfiguredError);
	});
});

const rejected = (status: number, code: string, details: string) =>
	`${env.RECEIVER_URL}/body/${status}/${Buffer.from(
		`<?xml version='1.0'?><Error><Code>${code}</Code><Message>No.</Message><Details>${details}</Details></Error>`,
	).toString("base64url")}`;

test("quoted messages of the server hide the secret, and our own text stays", async () => {
	const secrets = { hmac_access_id: "HMAC", hmac_secret: "key's" };
	const endpoint_url = rejected(403, "InvalidSecurity", "No HMAC of key's.");
	const failed = run(to({ ...secrets, endpoint_url }), job(), 1);
	const { host } = new URL(env.RECEIVER_URL);
	await expect(failed).rejects.toThrow(
		`There is no such HMAC key, or it is inactive. ${host} answered 403: "InvalidSecurity: No. No *** of ***."`,
	);
});

test("a clock that is wrong is temporary", async () => {
	const endpoint_url = rejected(403, "RequestTimeTooSkewed", "");
	const failed = run(to({ endpoint_url }), job(), 1);
	await expect(failed).rejects.toThrow("clock");
	await expect(failed).rejects.not.toBeInstanceOf(MisconfiguredError);
});
