/** What exports to Iceberg say about tables, catalogs and buckets that they can't use. */
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, test, vi } from "vitest";
import { MisconfiguredError } from "../../../src/outbound/errors.ts";
import { KEYS } from "../../support/bucket.ts";
import { clouds, ISSUER, ROLE } from "../../support/clouds.ts";
import { job, rows } from "../../support/exporting.ts";
import type { Fault } from "../../support/faults.ts";
import { CLIENT, EVENT_COLUMNS, TOKEN } from "../../support/iceberg.ts";
import { exporting, withoutWaits } from "../engine/running.ts";
import { ICEBERG, missingIceberg } from "./adapters.ts";
import {
	ALL,
	AT_PROXY,
	COLUMN,
	failing,
	filesOf,
	fresh,
	makeTable,
	metadataOf,
	summariesOf,
	to,
	windowOf,
	withColumn,
	write,
} from "./iceberg_tables.ts";

const noIceberg = await missingIceberg();

afterEach(() => {
	vi.restoreAllMocks();
});

describe.skipIf(noIceberg)(`Iceberg${noIceberg}`, () => {
	withoutWaits();

	test.each<[string, object, string]>([
		[
			"lacks a column",
			{ fields: ALL.slice(1) },
			"lacks the column uuid, which the export writes: add it with the type string.",
		],
		[
			"has a column of another type",
			{ fields: withColumn(COLUMN("team_id", "int")) },
			"The column team_id of the table exports.TABLE has the type int, but the export writes long.",
		],
		[
			"has times without a zone",
			{ fields: withColumn(COLUMN("timestamp", "timestamp")) },
			"has the type timestamp, but the export writes timestamptz.",
		],
		[
			"has a nested column",
			{
				fields: withColumn(
					COLUMN("event", {
						type: "list",
						"element-id": 20,
						element: "string",
						"element-required": true,
					}),
				),
			},
			"The column event of the table exports.TABLE has the type {",
		],
		[
			"requires a column that isn't written",
			{ fields: withColumn(COLUMN("tenant", "string", true)) },
			"The column tenant of the table exports.TABLE is required, but the export doesn't write it: make it optional.",
		],
		[
			"has another partition",
			{ partition: { name: "short", transform: "truncate[3]", source: "event" } },
			"Exports can't write the partition short (truncate[3]) of the table exports.TABLE.",
		],
		[
			"has another version of the format",
			{ version: "3" },
			"The table exports.TABLE has version 3 of Iceberg's format, but exports write version 2.",
		],
	])("a table that %s is named in the trial and the run", async (_, change, words) => {
		const table = fresh();
		await makeTable(table, change);
		const error = words.replace("TABLE", table);
		await expect(write(table, windowOf(crypto.randomUUID(), 0), rows(2))).rejects.toThrow(error);
		const steps = await to(table).test({ job: job(), rows: rows(1) });
		expect(steps.at(-1)).toMatchObject({ name: "write", error: expect.stringContaining(error) });
		expect(await filesOf(table)).toEqual([]);
	});

	test("a required column without a value fails, and nothing is committed", async () => {
		const table = fresh();
		await makeTable(table, { fields: withColumn(COLUMN("properties", "string", true)) });
		await expect(write(table, windowOf(crypto.randomUUID(), 0), rows(12))).rejects.toThrow(
			"The column properties of the table is required, but rows of the export have no value for it: make it optional.",
		);
		expect(await summariesOf(table)).toEqual([]);
	});

	test.each<[string, object, string]>([
		[
			"client",
			{ token: undefined, ...CLIENT, client_secret: "wrong-secret" },
			"The client was rejected: check client_id, client_secret and scope.",
		],
		["token", { token: "wrong-secret" }, "The catalog rejects the credentials."],
		[
			"signature",
			{ ...KEYS, token: undefined, signing_name: "glue", aws_secret_access_key: "wrong-secret" },
			"The catalog rejects the credentials.",
		],
	])("a wrong %s is named, without the secret", async (_, more, words) => {
		const steps = await to(fresh(), more).test();
		expect(steps.at(-1)).toMatchObject({ name: "sign in", error: expect.stringContaining(words) });
		expect(JSON.stringify(steps)).not.toContain("wrong-secret");
	});

	test.each<[string, Omit<Fault, "method">, string, boolean]>([
		["HTML", { status: 200, body: "<html>Hello</html>" }, "isn't an Iceberg REST catalog", true],
		["HTML with 404", { status: 404, body: "<html>Nothing" }, "Nothing", true],
		["nothing", { status: 200, body: "" }, "answered 200", false],
		["half of it", { status: 200, body: '{"metadata":' }, "answered 200", false],
		["another JSON", { status: 200, body: "[]" }, "isn't an Iceberg REST catalog", true],
		[
			"419",
			{ status: 419, body: '{"error":{"message":"m","type":"t","code":419}}' },
			"have expired",
			true,
		],
		[
			"403",
			{ status: 403, body: '{"error":{"message":"m","type":"t","code":403}}' },
			"doesn't allow this",
			true,
		],
		[
			"400",
			{ status: 400, body: '{"error":{"message":"too odd","code":400}}' },
			"says: too odd.",
			true,
		],
		[
			"a redirect",
			{ status: 302, headers: { location: "/" } },
			"isn't an Iceberg REST catalog",
			true,
		],
		["500", { status: 500, body: '{"error":{"message":"m"}}' }, "answered 500", false],
		["a closed connection", { status: 0 }, "was closed before the response", false],
	])("a catalog that answers with %s is named", async (_, fault, words, isPermanent) => {
		const table = fresh();
		await write(table, windowOf(crypto.randomUUID(), 0), rows(2));
		const faults = ["GET", "POST"].map((method) => ({ method, ...fault }));
		await failing(table, ...faults);
		const error = await write(table, windowOf(crypto.randomUUID(), 1), rows(2), AT_PROXY).then(
			() => "It succeeded.",
			(error: unknown) => error,
		);
		expect(String(error)).toContain(words);
		expect(error instanceof MisconfiguredError).toBe(isPermanent);
		expect(await summariesOf(table)).toHaveLength(1);
	});

	test("a namespace that doesn't exist, and a bucket in another place, are named", async () => {
		const steps = await to(fresh(), { namespace: "no.body" }).test();
		expect(steps.at(-1)).toMatchObject({
			name: "write",
			error: expect.stringContaining("There is no namespace no.body."),
		});
		const elsewhere = await to(fresh(), { aws_secret_access_key: "wrong-secret" }).test();
		expect(elsewhere.at(-1)).toMatchObject({
			name: "write",
			error: expect.stringContaining("The secret of the access key is wrong."),
		});
	});
	/** The events' columns, of which one has another type, or is missing. */
	const eventFields = (change: (name: string) => string | null) =>
		Object.entries(EVENT_COLUMNS).flatMap(([name, type]) => {
			const changed = change(name);
			return changed === null ? [] : [COLUMN(name, changed || type)];
		});

	const says = (status: number, body: string, headers = {}): Fault[] =>
		["GET", "POST", "PUT"].map((method) => ({ method, status, body, headers }));

	const problem = (code: number) =>
		JSON.stringify({ error: { message: `m ${TOKEN}`, type: "t", code } });

	type Broken = {
		/** Settings that differ. */
		settings?: object;
		/** Answers of the catalog, or of the bucket, to all requests of the table. */
		catalog?: Fault[];
		bucket?: Fault[];
		/** What the cloud of the role has. */
		trust?: Parameters<typeof clouds>[0];
		/** The columns of the table that is there; by default, there is none. */
		fields?: ReturnType<typeof eventFields>;
	};

	const ROLE_ONLY = {
		...{ aws_access_key_id: null, aws_secret_access_key: null },
		...{ role_arn: ROLE, region: "eu-west-1" },
	};

	test.each<[string, Broken, string]>([
		[
			"a table with another schema",
			{ fields: eventFields((name) => (name === "uuid" ? "int" : "")) },
			"has the type int, but the export writes string.",
		],
		[
			"a table without a column that is required",
			{ fields: eventFields((name) => (name === "distinct_id" ? null : "")) },
			"lacks the column distinct_id, which the export writes",
		],
		["401", { catalog: says(401, problem(401)) }, "The catalog rejects the credentials."],
		[
			"403",
			{ catalog: says(403, problem(403)) },
			"The catalog doesn't allow this with these credentials.",
		],
		[
			"419",
			{ catalog: says(419, problem(419)) },
			"The catalog says that the credentials have expired",
		],
		["500", { catalog: says(500, problem(500)) }, "answered 500"],
		["HTML", { catalog: says(200, "<html>Hello") }, "isn't an Iceberg REST catalog"],
		["nothing", { catalog: says(200, "") }, "answered 200"],
		["a closed connection", { catalog: says(0, "") }, "was closed before the response"],
		[
			"a warehouse in another region",
			{
				bucket: says(301, "<Error><Code>PermanentRedirect</Code></Error>", {
					"x-amz-bucket-region": "ap-south-1",
				}),
			},
			'The bucket is in the region "ap-south-1".',
		],
		[
			"a role without a right in the bucket",
			{
				settings: ROLE_ONLY,
				trust: {},
				bucket: says(403, "<Error><Code>AccessDenied</Code></Error>"),
			},
			"The role lacks a permission in the bucket",
		],
		[
			"a role that doesn't trust the export",
			{ settings: ROLE_ONLY, trust: { sub: "another" } },
			"The role doesn't trust this export",
		],
		[
			"a cloud that can't reach the issuer",
			{ settings: ROLE_ONLY, trust: { isReached: false } },
			`AWS can't get the keys of ${ISSUER}.`,
		],
	])("%s is named in the trial and in the run's log, without secrets", async (_, broken, words) => {
		const table_name = fresh();
		const { settings = {}, trust, fields } = broken;
		if (fields) await makeTable(table_name, { fields });
		const cloud = trust && clouds(trust);
		const given = {
			...{ ...ICEBERG, table_name, ...settings },
			...(broken.catalog && AT_PROXY),
			...(broken.bucket && { endpoint_url: env.S3_FAULTS_URL }),
		};
		const config = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null));
		const { here, path, backfill, id, project, export_id } = await exporting(
			{ type: "Iceberg", config },
			3,
		);
		if (cloud && trust.sub === undefined)
			cloud.trust.sub = `organization:${id}:project:${project}:batch_export:${export_id}`;
		/** The trial and each attempt get the same answers. */
		async function setFaults() {
			const repeated = (faults: Fault[]) => Array.from({ length: 40 }, () => faults).flat();
			if (broken.catalog) await failing(table_name, ...repeated(broken.catalog));
			if (broken.bucket)
				await fetch(new URL(`/faults/${table_name}`, env.S3_FAULTS_URL), {
					method: "PUT",
					body: JSON.stringify(repeated(broken.bucket)),
				});
		}
		await setFaults();
		const { body: trial } = await here("POST", `${path}/test`, { body: {} });
		expect(trial).toMatchObject({ success: false });
		expect(trial.steps.at(-1).error).toContain(words);
		await setFaults();
		const run = await backfill();
		expect(run.status).toMatch(/^Failed/);
		expect(run.latest_error).toContain(words);
		const { body: log } = await here("GET", `${path}/runs/${run.id}/logs`);
		expect(log.results.map(({ message }: { message: string }) => message).join("\n")).toContain(
			words,
		);
		const told = JSON.stringify([trial, run, log]);
		for (const secret of [TOKEN, KEYS.aws_secret_access_key, ...(cloud?.issued ?? [])])
			expect(told).not.toContain(secret);
		for (const token of cloud?.tokens ?? []) expect(told).not.toContain(token.split(".")[2]);
		// There may be an empty table, but nothing was committed to it.
		const there = await metadataOf(table_name).catch(() => null);
		expect(there?.snapshots ?? []).toEqual([]);
		expect(await filesOf(table_name)).toEqual([]);
	});

	test("a table that others change again and again is named", async () => {
		const table = fresh();
		vi.spyOn(scheduler, "wait").mockResolvedValue();
		const conflict = { method: "POST", query: `tables/${table}`, status: 409, body: "{}" };
		await failing(table, ...Array(20).fill(conflict));
		await expect(write(table, windowOf(crypto.randomUUID(), 0), rows(2), AT_PROXY)).rejects.toThrow(
			`Others have changed the table exports.${table} 20 times while the window was committed.`,
		);
		expect(await summariesOf(table)).toEqual([]);
	});
});
