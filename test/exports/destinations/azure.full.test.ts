import { env } from "cloudflare:workers";
import { createHmac } from "node:crypto";
import { beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { MisconfiguredError } from "../../../src/outbound/errors.ts";
import { ask, CONTAINER, createContainer, list, pathOf, read } from "../../support/azure.ts";
import { ACCOUNT } from "../../support/azurite.ts";
import { job, rows, run } from "../../support/exporting.ts";
import { opened } from "./adapters.ts";

const window = "2024-02-29T12:00:00.000Z-2024-02-29T13:00:00.000Z";
const { account_name: account, account_key: key } = ACCOUNT;

const to = (more: object = {}) => opened("AzureBlob", { prefix: "trials", ...more });

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
	async function twice(token: { sas_token: string }) {
		const more = { account_key: null, ...token };
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

	test("leaves only what its last run wrote, with a SAS token", async () => {
		const { warnings, names } = await twice({ sas_token: sas({ sp: "rcwdl" }) });
		expect(warnings).toEqual([]);
		expect(names).toEqual([`${window}.jsonl`]);
	});

	test("names the blobs that a SAS token without the permission delete leaves", async () => {
		const { prefix, warnings, names } = await twice({ sas_token: sas({ sp: "rcwl" }) });
		const left = [...old, `${window}_manifest.json`];
		expect(names).toEqual([...old, `${window}.jsonl`, `${window}_manifest.json`].sort());
		expect(warnings).toEqual([
			expect.stringContaining(
				`Remove them: ${left.map((name) => `${prefix}/${name}`).join(", ")}. The SAS token lacks a permission`,
			),
		]);
	});

	test("says so if a SAS token can't list blobs", async () => {
		const { warnings, names } = await twice({ sas_token: sas({ sp: "rcwd" }) });
		expect(names).toContain(`${window}-0.jsonl`);
		expect(warnings).toEqual([
			expect.stringMatching(/^Files of an earlier run .* can't be listed\. The SAS token lacks/),
		]);
	});
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
	test("of many blocks by one row", async () => {
		const destination = to({ prefix: crypto.randomUUID() });
		const first = job();
		await run(destination, first, 20_000);
		await expect(run(destination, job(), 1)).rejects.toThrow(first.export_id);
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

test("a server that answers 200 to everything is no Blob Storage, also for many rows", async () => {
	const endpoint_url = `${env.RECEIVER_URL}/anything`;
	const failed = run(to({ endpoint_url }), job(), 20_000);
	await expect(failed).rejects.toThrow("didn't confirm");
	await expect(failed).rejects.toBeInstanceOf(MisconfiguredError);
});
