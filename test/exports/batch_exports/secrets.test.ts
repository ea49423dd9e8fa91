import { env } from "cloudflare:workers";
import { afterEach, describe, expect, test, vi } from "vitest";
import { orNotFound } from "../../../src/http/errors.ts";
import { ACCOUNT } from "../../support/bigquery.ts";
import { call, join, racing, world } from "../../support/world.ts";

const [, private_line] = env.BIGQUERY_PRIVATE_KEY.split("\n");

const SECRETS = [
	"AKIA-key-nobody-may-see",
	"secret-nobody-may-see",
	"token-nobody-may-see",
	"user-nobody-may-see",
	"password-nobody-may-see",
	"accountkeynobodymaysee",
	"signature-nobody-may-see",
	// A part that all forms of the key contain.
	orNotFound(private_line),
];
const [key_id, secret, token, user, password, account_key, signature] = SECRETS;

const S3 = {
	bucket_name: "bucket",
	region: "auto",
	prefix: "",
	endpoint_url: `${env.RECEIVER_URL}/status/404`,
};
const AZURE = {
	container_name: "container",
	prefix: "",
	account_name: "account",
	endpoint_url: `${env.RECEIVER_URL}/status/404`,
};
const GCS = {
	bucket_name: "bucket",
	prefix: "",
	endpoint_url: `${env.RECEIVER_URL}/status/404`,
};
const POSTGRES = { host: "127.0.0.1", port: 1, database: "database" };

const BIGQUERY = {
	...ACCOUNT,
	endpoint_url: env.BIGQUERY_URL,
	token_uri: `${env.RECEIVER_URL}/status/401`,
};

/** For each type with secrets: the other fields, and the secrets. */
const TYPES = [
	["S3", S3, { aws_access_key_id: key_id, aws_secret_access_key: secret }, { region: null }],
	["HTTP", { url: `${env.RECEIVER_URL}/echo/401` }, { token }, { url: "x" }],
	["Postgres", POSTGRES, { user, password }, { port: 0 }],
	[
		"ClickHouse",
		{ url: `${env.RECEIVER_URL}/echo/500`, database: "default" },
		{ password },
		{ url: "x" },
	],
	["AzureBlob", AZURE, { account_key: `${account_key}==` }, { account_name: "A" }],
	["AzureBlob", AZURE, { sas_token: `sv=2021-12-02&sig=${signature}` }, { sas_token: "x" }],
	["GCS", GCS, { hmac_access_id: key_id, hmac_secret: secret }, { bucket_name: "/" }],
	[
		"BigQuery",
		BIGQUERY,
		{ private_key: env.BIGQUERY_PRIVATE_KEY },
		{ private_key: env.BIGQUERY_PRIVATE_KEY.slice(0, 900) },
	],
	[
		"Iceberg",
		{ catalog_uri: `${env.RECEIVER_URL}/echo/403`, namespace: "exports" },
		{ token },
		{ namespace: ".." },
	],
] as const;

afterEach(() => vi.restoreAllMocks());

const without = (text: string) => {
	for (const one of SECRETS) expect(text).not.toContain(one);
};

test.each(TYPES)(
	"no secret of %s is in a response, a log or the database",
	async (type, config, secrets, broken) => {
		const spies = (["log", "warn", "error"] as const).map((word) => vi.spyOn(console, word));
		const { here, id, key } = await world();
		const told: unknown[] = [];
		const post = async (method: string, path: string, body?: object) => {
			const answer = await here(method, path, { body });
			told.push(answer.body, [...answer.headers]);
			return answer;
		};
		const destination = { type, config: { ...config, ...secrets } };
		const fields = { name: "x", interval: "hour", destination };
		await post("POST", "/batch_exports/test", fields);
		const { body } = await post("POST", "/batch_exports", fields);
		const path = `/batch_exports/${body.id}`;
		for (const changed of [broken, secrets, { ...secrets, a: 1 }]) {
			const body = { destination: { config: changed } };
			for (const below of ["", "/test", "/pause"])
				await post(below ? "POST" : "PATCH", path + below, body);
		}
		await post("POST", `${path}/test`);
		await call("PATCH", `/api/organizations/${id}${path}`, {
			key,
			body: { name: "y", destination },
			env: racing(() => post("PATCH", path, { name: "z", destination })),
		});
		await post("POST", `${path}/backfill`);
		for (const below of ["", "/runs", "/logs", "/backfills"]) await post("GET", path + below);
		await post("GET", "/batch_exports");
		await post("GET", "/activity_log");
		await post("DELETE", path);
		without(JSON.stringify(told));
		without(JSON.stringify(spies.map(({ mock }) => mock.calls)));
		const { results: tables } = await env.DB.prepare(
			"select name from sqlite_master where type = 'table' and name not like 'sqlite%' and name not like '\\_cf%' escape '\\'",
		).all<{ name: string }>();
		expect(tables.length).toBeGreaterThan(15);
		for (const { name } of tables) {
			const { results } = await env.DB.prepare(`select * from "${name}"`).all();
			without(JSON.stringify(results));
		}
	},
);

test("the errors of a test hide the secrets, and nothing else", async () => {
	const { here } = await world();
	const trial = async (type: string, config: object) =>
		(
			await here("POST", "/batch_exports/test", {
				body: { destination: { type, config } },
			})
		).body.steps.at(-1).error;
	expect(await trial("Postgres", { ...POSTGRES, user, password })).toBe(
		"Nothing answers at 127.0.0.1:1: check the host, the port, and any firewall in between.",
	);
	const words = { user: "host", password: "answers" };
	expect(await trial("Postgres", { ...POSTGRES, ...words })).toMatch(
		/^Nothing answers at 127\.0\.0\.1:1: check the host/,
	);
	expect(
		await trial("S3", {
			...S3,
			aws_access_key_id: key_id,
			aws_secret_access_key: secret,
		}),
	).toBe(
		`The bucket rejected the request. ${new URL(env.RECEIVER_URL).host} answered 404: "Oops".`,
	);
});

describe("a destination that is moved to another server", () => {
	const REFUSED = {
		type: "validation_error",
		code: "invalid_input",
		detail: "Give the secret fields again: the destination leads elsewhere.",
		attr: "destination",
	};
	const elsewhere = env.RECEIVER_URL.replace("127.0.0.1", "localhost");
	const MOVES = [
		["HTTP", { url: `${elsewhere}/batches/stolen` }],
		["S3", { endpoint_url: elsewhere }],
		["S3", { endpoint_url: null }],
		["AzureBlob", { endpoint_url: elsewhere }],
		["AzureBlob", { endpoint_url: null }],
		["GCS", { endpoint_url: elsewhere }],
		["GCS", { endpoint_url: null }],
		["Postgres", { host: "localhost" }],
		["Postgres", { port: 2 }],
		["Postgres", { port: null }],
		["ClickHouse", { url: elsewhere }],
		["BigQuery", { endpoint_url: elsewhere }],
		["BigQuery", { endpoint_url: null }],
		["BigQuery", { token_uri: elsewhere }],
		["BigQuery", { token_uri: null }],
		["Iceberg", { catalog_uri: elsewhere }],
		["Iceberg", { oauth2_server_uri: elsewhere }],
		["Iceberg", { endpoint_url: elsewhere }],
	] as const;

	/** An export that somebody else entered secrets for, and a member who may change it. */
	async function entered(type: string) {
		const { here, id } = await world();
		const [, config, secrets] = orNotFound(TYPES.find(([name]) => name === type));
		const { body } = await here("POST", "/batch_exports", {
			body: {
				name: "x",
				interval: "hour",
				destination: { type, config: { ...config, ...secrets } },
			},
		});
		const { key } = await join(id, 1);
		const path = `/api/organizations/${id}/batch_exports/${body.id}`;
		const change = (method: "PATCH" | "POST", config: object) =>
			call(method, method === "POST" ? `${path}/test` : path, {
				key,
				body: { destination: { config } },
			});
		return { change, secrets, export_id: body.id };
	}

	test.each(MOVES)("doesn't get the stored secrets: %s to %j", async (type, moved) => {
		const { change, secrets, export_id } = await entered(type);
		const stored = () =>
			env.DB.prepare("select destination from batch_exports where id = ?")
				.bind(export_id)
				.first("destination");
		const before = await stored();
		const [one, ...others] = Object.keys(secrets);
		for (const method of ["PATCH", "POST"] as const) {
			expect((await change(method, moved)).body).toEqual(REFUSED);
			if (others.length === 0) continue;
			// One secret of two is not enough.
			const some = { ...moved, [one ?? ""]: "mine" };
			expect((await change(method, some)).body).toEqual(REFUSED);
		}
		expect(await stored()).toBe(before);
		const mine = Object.fromEntries(
			Object.keys(secrets).map((name) => [
				name,
				name === "private_key" ? env.BIGQUERY_PRIVATE_KEY : "mine",
			]),
		);
		const answer = await change("PATCH", { ...moved, ...mine });
		expect(answer.status).toBe(200);
	});

	test.each([
		["another account", { account_name: "other" }, REFUSED],
		["another container", { container_name: "other" }, null],
		[
			"a token instead of the key",
			{ account_name: "other", account_key: null, sas_token: "sig=mine" },
			null,
		],
	])("at Azure, %s", async (_, config, refusal) => {
		const { here } = await world();
		const { endpoint_url: __, ...rest } = AZURE;
		const { body } = await here("POST", "/batch_exports", {
			body: {
				name: "x",
				interval: "hour",
				destination: {
					type: "AzureBlob",
					config: { ...rest, account_key: `${account_key}==` },
				},
			},
		});
		const answer = await here("PATCH", `/batch_exports/${body.id}`, {
			body: { destination: { config } },
		});
		if (refusal) expect(answer.body).toEqual(refusal);
		else expect(answer.status).toBe(200);
	});

	test("keeps its secrets if the server is the same", async () => {
		const { change } = await entered("HTTP");
		const url = `${env.RECEIVER_URL}/batches/same-server`;
		expect((await change("PATCH", { url })).status).toBe(200);
		expect((await change("POST", {})).body.success).toBe(true);
		const received = await fetch(`${env.RECEIVER_URL}/received/batches/same-server`);
		const [first] = await received.json<{ headers: object }[]>();
		expect(first?.headers).toMatchObject({ authorization: `Bearer ${token}` });
	});
});

test("a test is written to the activity log, with its endpoint", async () => {
	const { here } = await world();
	const url = `${env.RECEIVER_URL}/batches/trial`;
	const fields = {
		name: "x",
		interval: "hour",
		destination: { type: "HTTP", config: { url, token } },
	};
	const { body } = await here("POST", "/batch_exports", { body: fields });
	await here("POST", "/batch_exports/test", { body: fields });
	await here("POST", `/batch_exports/${body.id}/test`, {});
	const log = await here("GET", "/activity_log?activity=tested");
	const trigger = { destination: "HTTP", endpoint: env.RECEIVER_URL };
	expect(log.body.results).toMatchObject([
		{ scope: "BatchExport", item_id: body.id, detail: { name: "x", trigger } },
		{
			scope: "BatchExportDestination",
			item_id: "HTTP",
			detail: { name: env.RECEIVER_URL, trigger },
		},
	]);
});
