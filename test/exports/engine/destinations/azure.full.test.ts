import { env } from "cloudflare:workers";
import { createHmac } from "node:crypto";
import { gunzipSync } from "node:zlib";
import { beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { containerUrl } from "../../../../src/outbound/buckets/azure.ts";
import { configs } from "../../../../src/outbound/destinations/configs.ts";
import { MisconfiguredError } from "../../../../src/outbound/errors.ts";
import { ask, CONTAINER, createContainer, list, pathOf, read } from "../../../support/azure.ts";
import { ACCOUNT } from "../../../support/azurite.ts";
import { destinationOf, duckdb, job, rows, run } from "../../../support/exporting.ts";
import { HANG_MS } from "../../../support/hang.ts";

const window = "2024-02-29T12:00:00.000Z-2024-02-29T13:00:00.000Z";
const { account_name: account, account_key: key } = ACCOUNT;

const base = {
	container_name: CONTAINER,
	prefix: "trials",
	endpoint_url: env.AZURE_URL,
};
const config = { ...base, ...ACCOUNT };

const to = (more: object = {}, patience = HANG_MS) =>
	destinationOf(env, "AzureBlob", { ...config, ...more }, patience);

/** A shared access signature for the container ("Create a service SAS"). */
function sas({ sp = "rcwd", se = "2099-01-01T00:00:00Z" } = {}) {
	const text = [
		...[sp, "", se, `/blob/${account}/${CONTAINER}`, "", "", "", "2021-12-02"],
		...["c", "", "", "", "", "", "", ""],
	].join("\n");
	const sig = createHmac("sha256", Buffer.from(key, "base64")).update(text).digest("base64");
	return `?sp=${sp}&se=${se}&sv=2021-12-02&sr=c&sig=${encodeURIComponent(sig)}`;
}

beforeAll(createContainer);

const passed = ["reach", "sign in", "write", "remove"].map((name) => ({
	name,
	error: null,
}));

test.each([
	["an account key", {}],
	["a SAS token", { account_key: null, sas_token: sas() }],
	["a SAS token that can't list or read", { account_key: null, sas_token: sas({ sp: "cwd" }) }],
])("a test with %s leaves nothing behind", async (_, more) => {
	const prefix = crypto.randomUUID();
	expect(await to({ ...more, prefix }).test()).toEqual(passed);
	expect(await list(prefix)).toEqual([]);
});

test.each([
	["an account key", {}],
	["a SAS token", { account_key: null, sas_token: sas() }],
])("a run with %s writes a blob", async (_, more) => {
	const prefix = `${crypto.randomUUID()}/ünï (it's) +1 & 100%?`;
	await run(to({ ...more, prefix }), job(), 2);
	const [blob = ""] = await list(prefix);
	expect(blob).toBe(`${prefix}/${window}.jsonl`.replaceAll("&", "&amp;"));
	const { headers } = await ask("HEAD", pathOf(`${prefix}/${window}.jsonl`).replaceAll("'", "%27"));
	expect(headers.get("content-type")).toBe("application/jsonl");
});

test("a test that can't remove its blob names it", async () => {
	const prefix = crypto.randomUUID();
	const more = { account_key: null, sas_token: sas({ sp: "rcw" }), prefix };
	const steps = await to(more).test();
	const [left = ""] = await list(prefix);
	expect(left).toContain(".tenantry-test-");
	expect(steps.at(-1)).toEqual({
		name: "remove",
		error: expect.stringMatching(
			new RegExp(`lacks a permission.*The object is still there, remove it: ${left}$`, "s"),
		),
	});
});

describe("a window that is exported again", () => {
	/**
	 * Exports a window, then again in another format. Returns what the second run warns of, and the
	 * blobs.
	 */
	async function twice(more: object) {
		const prefix = `${crypto.randomUUID()}/a b+c`;
		const what = job();
		await run(to({ prefix, max_file_size_mb: 1 }), what, 5000);
		const sink = await to({ prefix, ...more }).open(what, null, async () => {});
		await sink.write([...rows(1)]);
		const { warnings } = await sink.close();
		const names = (await list(prefix)).map((name) => name.split("/").at(-1));
		return { prefix, warnings, names };
	}
	const old = [`${window}-0.jsonl`, `${window}-1.jsonl`];

	test.each([
		["an account key", {}],
		["a SAS token", { account_key: null, sas_token: sas({ sp: "rcwdl" }) }],
	])("leaves only what its last run wrote, with %s", async (_, more) => {
		const { warnings, names } = await twice(more);
		expect(warnings).toEqual([]);
		expect(names).toEqual([`${window}.jsonl`]);
	});

	test("leaves none of many earlier blobs with long names", async () => {
		const prefix = `${crypto.randomUUID()}${"x".repeat(300)}`;
		const left = Array.from({ length: 350 }, (_, i) => `${prefix}/${window}-${i}.csv`);
		const what = job();
		const headers = {
			"x-ms-blob-type": "BlockBlob",
			"x-ms-meta-tenantryexport": what.export_id,
		};
		await Promise.all(left.map((name) => ask("PUT", pathOf(name), headers)));
		await run(to({ prefix }), what, 1);
		expect(await list(prefix)).toEqual([`${prefix}/${window}.jsonl`]);
	});

	test("names the blobs that a SAS token without the permission delete leaves", async () => {
		const { prefix, warnings, names } = await twice({
			account_key: null,
			sas_token: sas({ sp: "rcwl" }),
		});
		const left = [...old, `${window}_manifest.json`];
		expect(names).toEqual([...old, `${window}.jsonl`, `${window}_manifest.json`].sort());
		expect(warnings).toEqual([
			expect.stringContaining(
				`Remove them: ${left.map((name) => `${prefix}/${name}`).join(", ")}. The SAS token lacks a permission`,
			),
		]);
	});

	test("says so if a SAS token can't list blobs", async () => {
		const { warnings, names } = await twice({
			account_key: null,
			sas_token: sas({ sp: "rcwd" }),
		});
		expect(names).toContain(`${window}-0.jsonl`);
		expect(warnings).toEqual([
			expect.stringMatching(/^Files of an earlier run .* can't be listed\. The SAS token lacks/),
		]);
	});
});

describe("after any crash", () => {
	test("a blob has all rows of its blocks, in order", async () => {
		const prefix = crypto.randomUUID();
		const n = 100_001;
		const ran = await run(to({ prefix, compression: "gzip" }), job(), n, {
			crashes: true,
		});
		expect(ran.kept).toBeGreaterThan(1);
		const blob = `${prefix}/${window}.jsonl.gz`;
		expect(await list(prefix)).toEqual([blob]);
		const file = await read(blob);
		expect(file.length).toBeGreaterThan(5 * 2 ** 20);
		const lines = gunzipSync(file).toString().trim().split("\n");
		const ids = lines.map((line) => JSON.parse(line).team_id);
		expect(ids.length).toBe(n);
		expect(ids.every((id, i) => id === i)).toBe(true);
		const { headers } = await ask("HEAD", pathOf(blob));
		expect(headers.get("content-type")).toBe("application/gzip");
	});

	test("several Parquet files are whole, and a manifest lists them", async () => {
		const prefix = crypto.randomUUID();
		const n = 60_000;
		await run(to({ prefix, file_format: "Parquet", max_file_size_mb: 3 }), job(), n, {
			crashes: true,
		});
		const names = await list(prefix);
		const manifest = `${prefix}/${window}_manifest.json`;
		const files = Array.from(
			{ length: names.length - 1 },
			(_, i) => `${prefix}/${window}-${i}.parquet`,
		);
		expect(files.length).toBeGreaterThan(1);
		expect(names.sort()).toEqual([...files, manifest].sort());
		expect(JSON.parse(Buffer.from(await read(manifest)).toString())).toEqual({
			files,
		});
		const counts = await Promise.all(
			files.map(async (file) => duckdb(await read(file), "select count(*) as n from FILE")),
		);
		expect(counts.reduce((sum, [row]) => sum + Number(row?.n), 0)).toBe(n);
	});
});

test("an aborted run leaves no blob, and doesn't disturb the next run", async () => {
	const prefix = crypto.randomUUID();
	const destination = to({ prefix });
	const what = job();
	const { state } = await run(destination, what, 40_000, { until: 30_000 });
	expect(state.uploads.length).toBe(1);
	expect(await list(prefix)).toEqual([]);
	await run(destination, { ...what, run_id: crypto.randomUUID() }, 30_000);
	const text = Buffer.from(await read(`${prefix}/${window}.jsonl`)).toString();
	expect(text.trim().split("\n").length).toBe(30_000);
});

/** A run that has sent some blocks. */
async function half(prefix: string) {
	const destination = to({ prefix });
	const what = job();
	const sink = await destination.open(what, null, async () => {});
	let state: unknown = null;
	for (const page of [rows(20_000), rows(20_000)]) state = (await sink.write(page)) ?? state;
	expect(state).not.toBeNull();
	return { destination, what, state };
}

test("a run fails if its blocks are gone", async () => {
	const prefix = crypto.randomUUID();
	const { destination, what, state } = await half(prefix);
	// Committing a list of blocks removes those that aren't in it.
	const blob = `${pathOf(`${prefix}/${window}.jsonl`)}?comp=blocklist`;
	expect((await ask("PUT", blob, {}, "<BlockList></BlockList>")).status).toBe(201);
	const sink = await destination.open(what, state, async () => {});
	const failed = sink.close();
	await expect(failed).rejects.toThrow(MisconfiguredError);
	await expect(failed).rejects.toThrow("The unfinished upload is gone");
});

test("two runs that write the same blob concurrently don't mix their blocks", async () => {
	const prefix = crypto.randomUUID();
	const first = job();
	const second = { ...first, run_id: crypto.randomUUID() };
	const all = rows(60_000);
	const sinks = await Promise.all(
		[first, second].map((what) => to({ prefix }).open(what, null, async () => {})),
	);
	const [late, early] = sinks;
	await early?.write(all.slice(0, 30_000));
	await late?.write(all.slice(30_000));
	await early?.close();
	const blob = `${prefix}/${window}.jsonl`;
	const lines = Buffer.from(await read(blob))
		.toString()
		.trim()
		.split("\n");
	expect(JSON.parse(lines[0] ?? "").team_id).toBe(0);
	expect(lines.length).toBe(30_000);
	await expect(late?.close()).rejects.toThrow("The unfinished upload is gone");
});

describe("a blob of another export is not replaced", () => {
	test.each([
		[2, 1],
		[2, 30_000],
		[30_000, 1],
	])("of %i rows by %i rows", async (before, n) => {
		const destination = to({ prefix: crypto.randomUUID() });
		const first = job();
		await run(destination, first, before);
		const failed = run(destination, job(), n);
		await expect(failed).rejects.toThrow(MisconfiguredError);
		await expect(failed).rejects.toThrow(first.export_id);
		await run(destination, { ...job(), export_id: first.export_id }, n);
	});

	test.each([
		["didn't exist", 0],
		["was this export's", 1],
	])("if it is written after a check found that it %s", async (_, before) => {
		const prefix = crypto.randomUUID();
		const blob = `${prefix}/${window}.jsonl`;
		const what = job();
		for (let i = 0; i < before; i++) await run(to({ prefix }), what, 2);
		const { fetch } = globalThis;
		vi.spyOn(globalThis, "fetch").mockImplementation(async (...request) => {
			const response = await fetch(...request);
			const [asked] = request;
			if (asked instanceof Request && asked.method === "HEAD")
				await ask(
					"PUT",
					pathOf(blob),
					{
						"x-ms-blob-type": "BlockBlob",
						"x-ms-meta-tenantryexport": "another-export",
					},
					"other",
				);
			return response;
		});
		onTestFinished(() => {
			vi.restoreAllMocks();
		});
		const failed = run(to({ prefix }), what, 1);
		await expect(failed).rejects.toThrow("The blob was changed at the same time.");
		await expect(failed).rejects.not.toBeInstanceOf(MisconfiguredError);
		expect(Buffer.from(await read(blob)).toString()).toBe("other");
		// The next try sees the new blob.
		await expect(run(to({ prefix }), what, 1)).rejects.toThrow("another-export");
	});
});

describe("a test and a run report", () => {
	const azurite = new URL(env.AZURE_URL).host;
	test.each([
		["a wrong key", { account_key: btoa("wrong") }, "sign in", "The account key is wrong."],
		[
			"a wrong SAS token",
			{ account_key: null, sas_token: `${sas()}x` },
			"sign in",
			"The SAS token is wrong, has expired, or was revoked.",
		],
		[
			"a SAS token that has expired",
			{ account_key: null, sas_token: sas({ se: "2020-01-01T00:00:00Z" }) },
			"sign in",
			"The SAS token expired at 2020-01-01T00:00:00Z.",
		],
		[
			"a SAS token that can't write",
			{ account_key: null, sas_token: sas({ sp: "rl" }) },
			"write",
			`The SAS token lacks a permission: it needs read, create, write, delete and list. ${azurite} answered 403: "AuthorizationPermissionMismatch: This request is not authorized to perform this operation using this permission.".`,
		],
		[
			"no container",
			{ container_name: "elsewhere" },
			"write",
			`There is no container "elsewhere". ${azurite} answered 404: "ContainerNotFound: The specified container does not exist.".`,
		],
	])("%s", async (_, more, name, error) => {
		expect((await to(more).test()).at(-1)).toEqual({ name, error });
		const failed = run(to(more), job(), 1);
		await expect(failed).rejects.toThrow(error);
		await expect(failed).rejects.toBeInstanceOf(MisconfiguredError);
	});
});

/** A server that rejects all requests with the code and the message. */
const refusing = (status: number, code: string, message: string, more = "") => ({
	endpoint_url: `${env.RECEIVER_URL}/body/${status}/${Buffer.from(
		`<?xml version="1.0"?><Error><Code>${code}</Code><Message>${message}\nRequestId:1\nTime:2</Message>${more}</Error>`,
	).toString("base64url")}`,
});

const FAILED =
	"Server failed to authenticate the request. Make sure the value of Authorization header is formed correctly including the signature.";
const receiver = new URL(env.RECEIVER_URL).host;

test.each([
	[
		"a firewall",
		refusing(
			403,
			"AuthorizationFailure",
			"This request is not authorized to perform this operation.",
		),
		`The storage account's firewall doesn't let this service in, or the SAS token doesn't allow this. ${receiver} answered 403: "AuthorizationFailure: This request is not authorized to perform this operation."`,
	],
	[
		"a disabled account",
		refusing(403, "AccountIsDisabled", "The specified account is disabled."),
		`The storage account is disabled. ${receiver} answered 403: "AccountIsDisabled: The specified account is disabled."`,
	],
	[
		"a code of its own",
		refusing(409, "BlobImmutableDueToPolicy", `No, ${ACCOUNT.account_key}`),
		`Blob Storage rejected the request. ${receiver} answered 409: "BlobImmutableDueToPolicy: No, ***".`,
	],
	[
		"a key of another account",
		refusing(
			403,
			"AuthenticationFailed",
			FAILED,
			"<AuthenticationErrorDetail>The MAC signature found in the HTTP request 'x' is not the same as any computed signature.</AuthenticationErrorDetail>",
		),
		"The account key is wrong.",
	],
	[
		"a SAS token that isn't valid yet",
		{
			...refusing(
				403,
				"AuthenticationFailed",
				FAILED,
				"<AuthenticationErrorDetail>Signature not valid in the specified time frame: Start [x] - Expiry [y] - Current [z]</AuthenticationErrorDetail>",
			),
			account_key: null,
			sas_token: sas(),
		},
		"The SAS token isn't valid yet, or has expired.",
	],
	[
		"a redirect",
		{ endpoint_url: `${env.RECEIVER_URL}/redirect/302` },
		"doesn't respond like Blob Storage: check endpoint_url.",
	],
])("the error of a run says what to do about %s", async (_, more, words) => {
	const failed = run(to(more), job(), 1);
	await expect(failed).rejects.toThrow(words);
	await expect(failed).rejects.toBeInstanceOf(MisconfiguredError);
});

test.each([
	[
		"a clock that is wrong",
		refusing(
			403,
			"AuthenticationFailed",
			FAILED,
			"<AuthenticationErrorDetail>Request date header too old: 'x'</AuthenticationErrorDetail>",
		),
		"The server's clock differs too much from this service's clock.",
	],
	[
		"an account that is being created",
		refusing(409, "AccountBeingCreated", "Wait."),
		'answered 409: "AccountBeingCreated: Wait."',
	],
])("%s is temporary", async (_, more, words) => {
	const failed = run(to(more), job(), 1);
	await expect(failed).rejects.toThrow(words);
	await expect(failed).rejects.not.toBeInstanceOf(MisconfiguredError);
});

test.each([
	["/status/500", "answered 500."],
	["/status/503", "answered 503."],
	["/status/429", "answered 429."],
	["/hang", "did not answer within 0.3 seconds"],
])("%s is temporary", async (path, words) => {
	const patience = path === "/hang" ? 300 : undefined;
	const failed = run(to({ endpoint_url: env.RECEIVER_URL + path }, patience), job(), 1);
	await expect(failed).rejects.toThrow(words);
	await expect(failed).rejects.not.toBeInstanceOf(MisconfiguredError);
});

test.each([1, 20_000])(
	"a server that answers 200 to everything is no Blob Storage: %i rows",
	async (n) => {
		const endpoint_url = `${env.RECEIVER_URL}/anything`;
		expect((await to({ endpoint_url }).test()).at(-1)).toEqual({
			name: "write",
			error: expect.stringContaining("didn't confirm"),
		});
		const failed = run(to({ endpoint_url }), job(), n);
		await expect(failed).rejects.toThrow("didn't confirm");
		await expect(failed).rejects.toBeInstanceOf(MisconfiguredError);
		const sink = await to({ endpoint_url }).open(job(), null, async () => {});
		await expect(sink.write(rows(30_000))).rejects.toThrow("didn't confirm");
	},
);

test.each([
	[{ endpoint_url: null, account_name: "acme" }, "https://acme.blob.core.windows.net/exports"],
	[
		{ endpoint_url: "https://acme.blob.core.chinacloudapi.cn/" },
		"https://acme.blob.core.chinacloudapi.cn/exports",
	],
	[
		{ endpoint_url: "http://127.0.0.1:10000/devstoreaccount1" },
		"http://127.0.0.1:10000/devstoreaccount1/exports",
	],
])("%j is at %s", (more, url) => {
	expect(containerUrl(configs.AzureBlob.parse({ ...config, ...more })).href).toBe(url);
});
