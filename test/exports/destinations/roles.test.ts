import { env, exports } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { decodeJwt, decodeProtectedHeader } from "jose";
import { afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { activityLog } from "../../../src/db/schema/activity_log.ts";
import { batchExports } from "../../../src/db/schema/batch_exports.ts";
import { createContainer } from "../../support/azure.ts";
import { KEYS } from "../../support/bucket.ts";
import { clouds, ISSUER, ROLE, rejectedClaim, SERVICE_ACCOUNT } from "../../support/clouds.ts";
import { listS3 } from "../../support/exporting.ts";
import { call, db, world } from "../../support/world.ts";
import { exporting, withoutWaits } from "../engine/running.ts";
import { CASES, KEYLESS, S3, stored, tested, testRefusals } from "./keyless.ts";

beforeAll(createContainer);

afterEach(() => {
	vi.restoreAllMocks();
	vi.useRealTimers();
});

describe("the issuer", () => {
	const get = (path: string) => exports.default.fetch(`${ISSUER}/.well-known/${path}`);

	test("is the authorization server of apps, whose documents say the same", async () => {
		const response = await get("openid-configuration");
		const document = await response.json<Record<string, unknown>>();
		expect(document).toMatchObject({
			issuer: ISSUER,
			jwks_uri: `${ISSUER}/.well-known/openid-keys.json`,
			id_token_signing_alg_values_supported: ["RS256"],
			subject_types_supported: ["public"],
		});
		expect(document).toMatchObject(await (await get("oauth-authorization-server")).json<object>());
	});

	test("doesn't exist without an https APP_URL", async () => {
		for (const APP_URL of ["", "http://localhost:8787"]) {
			const { status } = await call("GET", "/.well-known/openid-configuration", {
				env: { APP_URL },
			});
			expect(status).toBe(404);
		}
	});

	test("has its own keys, which sign nothing else", async () => {
		const made = await stored("S3");
		const cloud = clouds({ sub: made.sub });
		expect(await tested(made)).toMatchObject({ success: true });
		const { keys } = await (await get("openid-keys.json")).json<{ keys: JsonWebKey[] }>();
		expect(keys).toEqual([
			{
				...{ kty: "RSA", e: "AQAB", n: expect.stringMatching(/^[\w-]{342}$/) },
				...{ kid: decodeProtectedHeader(cloud.tokens[0] ?? "").kid, alg: "RS256", use: "sig" },
				nbf: expect.any(Number),
			},
		]);
		const others = await (await get("jwks.json")).json<{ keys: JsonWebKey[] }>();
		expect(others.keys.filter(({ kty }) => kty === "RSA")).toEqual([]);
	});
});

describe("a token", () => {
	test("names one export, is for one cloud and ten minutes, and is never shown", async () => {
		const made = await stored("S3");
		const cloud = clouds({ sub: made.sub });
		const logged = vi.spyOn(console, "log");
		const results = [await tested(made), await tested(made)];
		expect(results).toMatchObject([{ success: true }, { success: true }]);
		const [token = "", second = ""] = cloud.tokens;
		const claims = decodeJwt(token);
		const now = Math.floor(Date.now() / 1000);
		expect(claims).toEqual({
			iss: ISSUER,
			sub: made.sub,
			aud: "sts.amazonaws.com",
			jti: expect.stringMatching(/^[\da-f-]{36}$/),
			iat: expect.closeTo(now, -1),
			nbf: (claims.iat ?? 0) - 60,
			exp: (claims.iat ?? 0) + 600,
		});
		expect(decodeProtectedHeader(token)).toMatchObject({ alg: "RS256", typ: "JWT" });
		expect(decodeJwt(second).jti).not.toBe(claims.jti);
		const [, payload = "", signature = ""] = token.split(".");
		const shown = JSON.stringify([results, logged.mock.calls, await made.here("GET", made.path)]);
		const entries = JSON.stringify(await db.select().from(activityLog));
		for (const secret of [payload, signature, [...cloud.issued][0] ?? ""]) {
			expect(secret).not.toBe("");
			expect(shown + entries).not.toContain(secret);
		}
	});

	test("of another export, of another time or changed isn't accepted", async () => {
		const [mine, other] = [await stored("S3"), await stored("S3")];
		const cloud = clouds({ sub: mine.sub });
		await tested(mine);
		const [token = ""] = cloud.tokens;
		const { trust } = cloud;
		expect(await rejectedClaim(token, trust)).toBeNull();
		expect(await rejectedClaim(token, { ...trust, sub: other.sub })).toBe("sub");
		expect(await rejectedClaim(token, { ...trust, aud: ["another"] })).toBe("aud");
		expect(await rejectedClaim(token, { ...trust, iss: "https://elsewhere.example" })).toBe("iss");
		expect(await rejectedClaim(token, { ...trust, ahead: 601_000 })).toBe("exp");
		const [header, claims = "", signature = ""] = token.split(".");
		const changed = btoa(JSON.stringify({ ...decodeJwt(token), sub: other.sub }))
			.replaceAll("+", "-")
			.replaceAll("/", "_")
			.replaceAll("=", "");
		expect(
			await rejectedClaim([header, changed, signature].join("."), { ...trust, sub: other.sub }),
		).toBe("token");
		const none = btoa(JSON.stringify({ alg: "none" })).replaceAll("=", "");
		expect(await rejectedClaim([none, claims, ""].join("."), trust)).toBe("token");
		// What signs heads of audit files isn't a key of tokens.
		const { sign } = await import("../../../src/keys/signing_keys.ts");
		const head = await sign(env, undefined, "audit-head+jwt", {
			...decodeJwt(token),
		});
		expect(await rejectedClaim(head, trust)).toBe("token");
	});

	test("can be checked with an old key only until it has expired", async () => {
		const made = await stored("S3");
		const cloud = clouds({ sub: made.sub });
		const start = Date.now();
		await tested(made);
		const [old = ""] = cloud.tokens;
		const { rotateSigningKeys } = await import("../../../src/keys/signing_keys.ts");
		const DAY = 86_400_000;
		for (const at of [start + 89 * DAY + 3_600_000, start + 90 * DAY + 3_600_000]) {
			vi.setSystemTime(at);
			await rotateSigningKeys(env, at);
		}
		// The next key signs. The bucket's clock doesn't follow.
		vi.setSystemTime(start + 90 * DAY + 2 * 3_600_000);
		expect((await tested(made)).steps.map(({ name }: { name: string }) => name)).toContain("write");
		const kids = cloud.tokens.map((token) => decodeProtectedHeader(token).kid);
		expect(new Set(kids).size).toBe(2);
		const keys = await (
			await exports.default.fetch(`${ISSUER}/.well-known/openid-keys.json`)
		).json<{ keys: { kid: string }[] }>();
		expect(keys.keys.map(({ kid }) => kid)).toContain(kids[1]);
		vi.setSystemTime(start + 92 * DAY);
		await rotateSigningKeys(env, Date.now());
		expect(await rejectedClaim(old, { ...cloud.trust, ahead: start - Date.now() })).toBe("token");
	});
});

describe("with a role", () => {
	withoutWaits();

	test.each(["S3", "GCS", "AzureBlob"] as const)(
		"a test and a run of %s need no stored key",
		async (type) => {
			const made = await stored(type, { prefix: `roles/${crypto.randomUUID()}` });
			const cloud = clouds({ sub: made.sub });
			expect(await tested(made)).toEqual({
				success: true,
				steps: ["reach", "sign in", "write", "remove"].map((name) => ({
					...{ name, error: null, warning: null },
				})),
			});
			expect(cloud.exchanges).toHaveLength(1);
			const [row] = await db
				.select()
				.from(batchExports)
				.where(eq(batchExports.uuid, made.export_id));
			expect(JSON.stringify(row)).not.toContain("sealed:");
		},
	);

	test("a run writes its file, and a run again finds its own", async () => {
		const prefix = `roles/${crypto.randomUUID()}`;
		const cloud = clouds();
		const { id, project, export_id, backfill } = await exporting(
			{ type: "GCS", config: { ...KEYLESS.GCS, prefix, client_email: SERVICE_ACCOUNT } },
			20,
		);
		cloud.trust.sub = `organization:${id}:project:${project}:batch_export:${export_id}`;
		expect(await backfill()).toMatchObject({ status: "Completed", records_completed: 20 });
		expect(await backfill()).toMatchObject({ status: "Completed", records_completed: 20 });
		expect(await listS3(prefix)).toHaveLength(1);
	});

	test("a run whose role isn't trusted any more fails and says so", async () => {
		const cloud = clouds();
		const { backfill, here, path } = await exporting({ type: "S3", config: KEYLESS.S3 }, 1);
		const run = await backfill();
		expect(run).toMatchObject({
			status: "Failed",
			latest_error: expect.stringContaining("The role doesn't trust this export"),
		});
		const { body } = await here("GET", `${path}/runs/${run.id}/logs`);
		const [token = ""] = cloud.tokens;
		expect(JSON.stringify(body)).toContain("doesn't trust this export");
		expect(JSON.stringify(body)).not.toContain(token.split(".")[2]);
	});
});

testRefusals(CASES.filter(([, what]) => what.includes("another export")));

test("a test says why there is no token", async () => {
	const made = await stored("S3");
	clouds({ sub: made.sub });
	const errorOf = async (more: Partial<Env>) => {
		const { body } = await made.here("POST", `${made.path}/test`, { body: {}, env: more });
		return body.steps.at(-1).error;
	};
	for (const APP_URL of ["", "http://localhost:8787"])
		expect(await errorOf({ APP_URL })).toContain("APP_URL isn't an https URL");
	expect(await errorOf({ SECRETS_KEY: "" })).toContain("SECRETS_KEY isn't set");
	const { body } = await made.here("POST", "/batch_exports/test", {
		body: { destination: { type: "S3", config: KEYLESS.S3 } },
	});
	expect(body.steps.at(-1)).toMatchObject({
		name: "sign in",
		error: expect.stringContaining("Create the export first, paused"),
	});
});

test("an audit stream signs in with a subject of its own", async () => {
	const { here, id } = await world();
	const { prefix, ...config } = KEYLESS.GCS;
	const { body } = await here("POST", "/audit_streams", {
		body: { name: "Stream", destination: { type: "GCS", config: { ...config, prefix } } },
	});
	const cloud = clouds({ sub: `organization:${id}:audit_stream:${body.id}` });
	const { body: result } = await here("POST", `/audit_streams/${body.id}/test`, { body: {} });
	expect(result).toMatchObject({ success: true });
	expect(cloud.tokens).toHaveLength(1);
});

describe("a role and a key", () => {
	const refused = (attr: string, detail: string) => ({
		status: 400,
		body: { attr: `destination__config__${attr}`, detail },
	});

	test.each([
		[
			"S3",
			{ aws_session_token: "x" },
			refused("aws_session_token", "Give role_arn or aws_session_token, not both."),
		],
		["S3", KEYS, refused("aws_access_key_id", "Give role_arn or aws_access_key_id, not both.")],
		[
			"S3",
			{ role_arn: "arn:aws:iam::1:role/x" },
			refused("role_arn", "Enter arn:aws:iam::<account>:role/<name>."),
		],
		[
			"GCS",
			{ hmac_secret: "x" },
			refused("hmac_secret", "Give workload_identity_provider or hmac_secret, not both."),
		],
		// Whoever may change the export would get an access token of Google or Azure.
		[
			"GCS",
			{ endpoint_url: "https://elsewhere.example" },
			refused("endpoint_url", "Give workload_identity_provider or endpoint_url, not both."),
		],
		[
			"AzureBlob",
			{ endpoint_url: "https://elsewhere.example" },
			refused("endpoint_url", "Give client_id or endpoint_url, not both."),
		],
		[
			"AzureBlob",
			{ sas_token: "sig=x" },
			refused("sas_token", "Give client_id or sas_token, not both."),
		],
		[
			"AzureBlob",
			{ tenant_id: null },
			refused("tenant_id", "An application has a client_id and a tenant_id."),
		],
		[
			"AzureBlob",
			{ tenant_id: "x/../y" },
			refused("tenant_id", "Enter the id of the tenant, or one of its domains."),
		],
	] as const)("of %s with %j can't be created or changed", async (type, more, answer) => {
		const { here, path } = await stored(type);
		const config = { ...KEYLESS[type], ...more };
		const body = { name: "Export", interval: "hour", destination: { type, config } };
		expect(await here("POST", "/batch_exports", { body })).toMatchObject(answer);
		expect(await here("PATCH", path, { body: { destination: { config } } })).toMatchObject(answer);
	});

	test("replace each other, and the log says which secrets are gone", async () => {
		const { here } = await world();
		const config = { ...S3, ...KEYS };
		const { body } = await here("POST", "/batch_exports", {
			body: { name: "Export", interval: "hour", destination: { type: "S3", config } },
		});
		const path = `/batch_exports/${body.id}`;
		const row = async () => {
			const [{ destination } = { destination: null }] = await db
				.select()
				.from(batchExports)
				.where(eq(batchExports.uuid, body.id));
			return Object.keys(destination?.config ?? {}).sort();
		};
		const patch = (changes: object) =>
			here("PATCH", path, { body: { destination: { config: changes } } });
		const common = ["bucket_name", "prefix", "region"];
		expect((await patch({ role_arn: ROLE })).status).toBe(200);
		expect(await row()).toEqual([...common, "role_arn"]);
		const log = await here("GET", "/activity_log?scope=BatchExport&activity=updated");
		expect(log.body.results[0].detail.trigger).toEqual({
			removed_secrets: ["aws_access_key_id", "aws_secret_access_key"],
		});
		expect((await patch(KEYS)).status).toBe(200);
		expect(await row()).toEqual([...Object.keys(KEYS), ...common].sort());
		expect((await patch({ role_arn: ROLE, aws_access_key_id: "x" })).status).toBe(400);
	});

	test("a copy has another subject, so the original's role doesn't trust it", async () => {
		const made = await stored("S3");
		const cloud = clouds({ sub: made.sub });
		const { body } = await made.here("POST", `${made.path}/duplicate`, { body: {} });
		const copy = { ...made, path: `/batch_exports/${body.id}` };
		const { steps } = await tested(copy);
		expect(steps.at(-1).error).toContain(made.sub.replace(made.export_id, body.id));
		expect(await tested(made)).toMatchObject({ success: true });
		expect(cloud.tokens.map((token) => decodeJwt(token).sub)).toEqual([
			made.sub.replace(made.export_id, body.id),
			made.sub,
		]);
	});

	test("another organization's token names it, so a role that is known is of no use", async () => {
		const [mine, stranger] = [await stored("S3"), await stored("S3")];
		clouds({ sub: mine.sub });
		const { steps } = await tested(stranger);
		expect(steps.at(-1).error).toContain("The role doesn't trust this export");
		expect((await stranger.here("POST", `${mine.path}/test`, { body: {} })).status).toBe(404);
	});
});
