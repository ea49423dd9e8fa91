import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import * as oauth from "oauth4webapi";
import { v7 } from "uuid";
import { expect, test, vi } from "vitest";
import { app } from "../../../src/app.ts";
import { oauthCodes, oauthDeviceRequests } from "../../../src/db/schema/oauth.ts";
import { users } from "../../../src/db/schema/people.ts";
import { personalApiKeys } from "../../../src/db/schema/personal_api_keys.ts";
import { digest, newValue } from "../../../src/keys/keys.ts";
import { deleteOld } from "../../../src/oauth/clean.ts";
import { eventually, exhaust, stopClock } from "../../support/time.ts";
import { call, db, keyFor, racing, serviceAccount, withBatch, world } from "../../support/world.ts";
import {
	API,
	codeFor,
	exchange,
	fails,
	MCP,
	newApp,
	options,
	refresh,
	rejected,
	request,
	secretsIn,
	send,
	server,
	statusWith,
} from "../support.ts";

const MINUTE = 60_000;
const DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code";

/** An app whose document says that it uses device codes. */
const newDeviceApp = () => newApp({ grant_types: [DEVICE_GRANT, "refresh_token"] });

type Person = { key: string };

/** What a device gets that asks for access. */
async function start(fields: Record<string, string> = {}, client_id = newDeviceApp()) {
	const as = await server();
	const client = { client_id };
	const response = await oauth.deviceAuthorizationRequest(
		as,
		client,
		oauth.None(),
		fields,
		options,
	);
	return { client_id, ...(await oauth.processDeviceAuthorizationResponse(as, client, response)) };
}

type Started = Pick<Awaited<ReturnType<typeof start>>, "client_id" | "device_code">;

/** A device asks for its tokens. */
async function poll({ client_id, device_code }: Started, more: Record<string, string> = {}) {
	const as = await server();
	const client = { client_id };
	const response = await oauth.deviceCodeGrantRequest(as, client, oauth.None(), device_code, {
		...options,
		additionalParameters: more,
	});
	return oauth.processDeviceCodeResponse(as, client, response);
}

const ask = ({ key }: Person, path: string, body: object) =>
	call("POST", `/api/device_requests${path}`, {
		key,
		body,
		headers: { "cf-connecting-ip": v7() },
	});

const approve = (person: Person, user_code: string, choice: object = {}) =>
	ask(person, "", { user_code, scopes: ["project:read"], ...choice });

const UNKNOWN = rejected("user_code");

test("a device gets what the person allowed, and its tokens are refreshed like others", async () => {
	const home = await world();
	const device = await start({ scope: "project:write user:read", resource: MCP });
	expect(device).toMatchObject({
		user_code: expect.stringMatching(/^[B-DF-HJ-NP-TV-XZ]{4}-[B-DF-HJ-NP-TV-XZ]{4}$/),
		verification_uri: "https://app.tenantry.test/console/device",
		verification_uri_complete: `https://app.tenantry.test/console/device?user_code=${device.user_code}`,
		expires_in: 600,
		interval: 5,
	});
	await expect(poll(device)).rejects.toMatchObject(fails("authorization_pending"));
	const { body } = await ask(home, "/preview", { user_code: device.user_code });
	expect(body).toEqual({
		client_id: device.client_id,
		client_name: "Notes",
		client_host: new URL(device.client_id).host,
		client_organization: null,
		audience: "mcp",
		scopes: ["project:write", "user:read"],
	});
	await expect(poll(device)).rejects.toMatchObject(fails("authorization_pending"));
	const choice = { scoped_organizations: [home.id] };
	expect((await approve(home, device.user_code, choice)).status).toBe(204);
	const tokens = await poll(device, { resource: MCP });
	expect(tokens).toMatchObject({ scope: "project:read", token_type: "bearer" });
	const { access, refresh: token } = secretsIn(tokens);
	expect(await statusWith(access)).toBe(401);
	expect(await refresh(device.client_id, token)).toMatchObject({ scope: "project:read" });
	const events = await home.here("GET", "/events?types=oauth_grant.created");
	expect(events.body.results).toMatchObject([{ data: { name: "Notes" } }]);
});

test("the access of a device can't begin after its end", async () => {
	stopClock();
	const home = await world();
	const device = await start();
	const until = (ms: number) => ({ ends_at: new Date(Date.now() + ms).toISOString() });
	expect(await approve(home, device.user_code, until(0))).toMatchObject(rejected("ends_at"));
	expect((await approve(home, device.user_code, until(1000))).status).toBe(204);
	vi.setSystemTime(Date.now() + 1001);
	await expect(poll(device)).rejects.toMatchObject(fails("invalid_grant"));
});

test("a code gives nothing once the key that allowed it is revoked, also at the last moment", async () => {
	const home = await world();
	const key = await keyFor(home.owner.id);
	const isKey = eq(personalApiKeys.hash, await digest(key));
	const revoke = async () => {
		await db.delete(personalApiKeys).where(isKey);
	};
	const device = await start();
	expect((await approve({ key }, device.user_code)).status).toBe(204);
	const { device_code, client_id } = device;
	const form = { grant_type: DEVICE_GRANT, device_code, client_id };
	const late = await app.fetch(
		new Request(new URL("/oauth/token", API), { method: "POST", body: new URLSearchParams(form) }),
		{ ...env, ...racing(revoke) },
		createExecutionContext(),
	);
	expect(await late.json()).toMatchObject({ error: "invalid_grant" });
	await expect(poll(device)).rejects.toMatchObject(fails("invalid_grant"));
	const grants = db.select().from(personalApiKeys).where(eq(personalApiKeys.client_id, client_id));
	expect(await grants).toEqual([]);
});

test("the command line needs no document, and its name can't be taken", async () => {
	const home = await world();
	const device = await start({ scope: "*" }, "tenantry-cli");
	const { body } = await ask(home, "/preview", { user_code: device.user_code });
	expect(body).toMatchObject({
		client_name: "Tenantry command line",
		client_host: "app.tenantry.test",
		scopes: ["*"],
	});
	await approve(home, device.user_code, { scopes: ["*"] });
	expect(await statusWith((await poll(device)).access_token)).toBe(200);
	const { parameters } = await request("tenantry-cli", {
		redirect_uri: "http://127.0.0.1:33418/callback",
	});
	const at = (redirect_uri: string) =>
		call("POST", "/api/app_requests/preview", {
			key: home.key,
			body: { ...parameters, redirect_uri },
		});
	expect((await at(parameters.redirect_uri)).status).toBe(200);
	expect(await at("https://evil.test/callback")).toMatchObject(rejected("redirect_uri"));
	expect(await at("http://localhost:33418/callback")).toMatchObject(rejected("redirect_uri"));
});

test("an app that doesn't say that it uses device codes can't, and wrong requests are rejected", async () => {
	for (const [fields, client_id, error] of [
		[{}, newApp(), "unauthorized_client"],
		[{}, "https://notes.example", "invalid_client"],
		[{}, `${env.RECEIVER_URL}/status/500`, "invalid_client"],
		[{ resource: "https://evil.test/mcp" }, newDeviceApp(), "invalid_target"],
		[{ scope: "x".repeat(2_001) }, newDeviceApp(), "invalid_request"],
	] as const)
		await expect(start(fields, client_id)).rejects.toMatchObject(fails(error));
	const missing = await send("POST", "/oauth/device_authorization", new URLSearchParams());
	expect([missing.status, await missing.json()]).toMatchObject([400, { error: "invalid_request" }]);
});

test("a code is entered without regard to case and dashes", async () => {
	const home = await world();
	const { user_code } = await start();
	const [a = "", b = ""] = user_code.toLowerCase().split("-");
	for (const entered of [`${a}${b}`, `${a} ${b}`, ` ${a}–${b}`])
		expect((await ask(home, "/preview", { user_code: entered })).status).toBe(200);
	expect(await ask(home, "/preview", { user_code: a })).toMatchObject(UNKNOWN);
});

test("a denial is final, and an event", async () => {
	const home = await world();
	const device = await start();
	const { user_code } = device;
	expect((await ask(home, "/deny", { user_code })).status).toBe(204);
	await expect(poll(device)).rejects.toMatchObject(fails("access_denied"));
	expect(await approve(home, user_code)).toMatchObject(UNKNOWN);
	expect(await ask(home, "/preview", { user_code })).toMatchObject(UNKNOWN);
	await expect(poll(device)).rejects.toMatchObject(fails("access_denied"));
	const { body } = await home.here("GET", "/events?types=oauth_grant.rejected");
	const { client_id } = device;
	expect(body.results).toMatchObject([{ data: { trigger: { client_id, job: "person" } } }]);
});

test("a person decides once: a code that was allowed can't be entered again", async () => {
	const [home, other] = [await world(), await world()];
	const device = await start();
	const { user_code } = device;
	const decisions = Array.from({ length: 4 }, (_, i) =>
		i % 2 ? ask(other, "/deny", { user_code }) : approve(home, user_code),
	);
	const statuses = (await Promise.all(decisions)).map(({ status }) => status);
	expect(statuses.toSorted()).toEqual([204, 400, 400, 400]);
	expect(await approve(other, user_code)).toMatchObject(UNKNOWN);
	expect(await ask(other, "/deny", { user_code })).toMatchObject(UNKNOWN);
});

test("a device code in a race of ten gives tokens at most once, and none of them work", async () => {
	const home = await world();
	const device = await start();
	await approve(home, device.user_code);
	const results = await Promise.allSettled(Array.from({ length: 10 }, () => poll(device)));
	const tokens = results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
	expect(tokens.length).toBeLessThanOrEqual(1);
	for (const { access_token } of tokens) expect(await statusWith(access_token)).toBe(401);
	await expect(poll(device)).rejects.toMatchObject(fails("invalid_grant"));
	const keys = await db
		.select()
		.from(personalApiKeys)
		.where(eq(personalApiKeys.user_id, home.owner.id));
	expect(keys.filter((key) => key.client_id)).toEqual([]);
});

test("a device code works for its app and resource only, and not as another code", async () => {
	const home = await world();
	const device = await start({ resource: API });
	const { device_code } = device;
	const other = newDeviceApp();
	await expect(poll({ client_id: other, device_code })).rejects.toMatchObject(
		fails("invalid_grant"),
	);
	await approve(home, device.user_code);
	await expect(poll({ client_id: other, device_code })).rejects.toMatchObject(
		fails("invalid_grant"),
	);
	await expect(poll(device, { resource: MCP })).rejects.toMatchObject(fails("invalid_target"));
	const stolen = new URLSearchParams({
		grant_type: "authorization_code",
		code: device_code,
		client_id: device.client_id,
		code_verifier: "x".repeat(43),
	});
	const response = await send("POST", "/oauth/token", stolen);
	expect(await response.json()).toMatchObject({ error: "invalid_grant" });
	const asked = await request(newDeviceApp());
	const code = await codeFor(home, asked);
	const instead = { client_id: asked.parameters.client_id, device_code: code.get("code") ?? "" };
	await expect(poll(instead)).rejects.toMatchObject(fails("invalid_grant"));
	expect(await exchange(code, asked)).toMatchObject({ token_type: "bearer" });
	expect(await poll(device)).toMatchObject({ token_type: "bearer" });
});

test("a device code that nobody got doesn't work, even with a code that a person could see", async () => {
	const home = await world();
	const device = await start();
	const made = newValue(`tnt_dc_${device.user_code.replace("-", "")}_`);
	const wrong = [made, `${device.device_code}x`, "x", home.key];
	for (const device_code of wrong)
		await expect(poll({ ...device, device_code })).rejects.toMatchObject(fails("invalid_grant"));
	await approve(home, device.user_code);
	for (const device_code of wrong)
		await expect(poll({ ...device, device_code })).rejects.toMatchObject(fails("invalid_grant"));
	expect(await poll(device)).toMatchObject({ token_type: "bearer" });
});

test("a device has ten minutes until the person decides, and ten to fetch its tokens", async () => {
	stopClock();
	const home = await world();
	const [late, slow] = [await start(), await start()];
	const pass = (minutes: number) => vi.setSystemTime(Date.now() + minutes * MINUTE);
	pass(9);
	await approve(home, slow.user_code);
	pass(1);
	await expect(poll(late)).rejects.toMatchObject(fails("expired_token"));
	expect(await approve(home, late.user_code)).toMatchObject(UNKNOWN);
	expect(await ask(home, "/deny", { user_code: late.user_code })).toMatchObject(UNKNOWN);
	pass(8);
	const { access_token } = await poll(slow);
	expect(await statusWith(access_token)).toBe(200);
	const gone = await start();
	await approve(home, gone.user_code);
	pass(10);
	await expect(poll(gone)).rejects.toMatchObject(fails("invalid_grant"));
});

test("a deactivated person's device gets nothing", async () => {
	const home = await world();
	const device = await start();
	await approve(home, device.user_code);
	await db.update(users).set({ is_active: false }).where(eq(users.id, home.owner.id));
	await expect(poll(device)).rejects.toMatchObject(fails("invalid_grant"));
});

test("a person allows at most what the device asks for, and what they have themselves", async () => {
	const home = await world();
	const { user_code } = await start({ scope: "project:read" });
	const more = { scopes: ["project:write"] };
	expect(await approve(home, user_code, more)).toMatchObject(rejected("scopes"));
	const few = await keyFor(home.owner.id, { scopes: ["personal_api_key:write"] });
	const machine = await keyFor((await serviceAccount(home)).user_id);
	for (const key of [few, machine]) expect((await approve({ key }, user_code)).status).toBe(403);
	expect((await approve(home, user_code)).status).toBe(204);
});

test("asking before the person has decided writes nothing, and asking too often is slowed down", async () => {
	const device = await start();
	const form = new URLSearchParams({
		grant_type: DEVICE_GRANT,
		client_id: device.client_id,
		device_code: device.device_code,
	});
	const written: number[] = [];
	const counting = withBatch(async (sendBatch) => {
		const results = await sendBatch();
		written.push(...results.map(({ meta }) => meta.rows_written));
		return results;
	});
	const asked = new Request(`${new URL(API).origin}/oauth/token`, { method: "POST", body: form });
	const response = await app.fetch(asked, { ...env, ...counting }, createExecutionContext());
	expect(await response.json()).toMatchObject({ error: "authorization_pending" });
	expect(written).toEqual([0, 0, 0]);
	await eventually(async () => {
		await exhaust(env.AUTH_FAILURES, `device ${await digest(device.device_code)}`);
		const response = await send("POST", "/oauth/token", form);
		expect([response.status, await response.json()]).toMatchObject([400, { error: "slow_down" }]);
	});
});

test("codes can't be guessed: a person enters ten a minute, from wherever", async () => {
	const home = await world();
	const { user_code } = await start();
	await eventually(async () => {
		await exhaust(env.SIGN_INS, `device codes of ${home.owner.id}`);
		for (const path of ["", "/preview", "/deny"]) {
			const { status } = await ask(home, path, { user_code, scopes: ["project:read"] });
			expect(status).toBe(429);
		}
	});
	const other = await world();
	const address = "192.0.2.77";
	await eventually(async () => {
		await exhaust(env.AUTH_FAILURES, `device codes from ${address}`);
		const { status } = await call("POST", "/api/device_requests/preview", {
			key: other.key,
			body: { user_code },
			headers: { "cf-connecting-ip": address },
		});
		expect(status).toBe(429);
	});
});

test("a network starts ten requests a minute", async () => {
	const address = "192.0.2.78";
	const form = new URLSearchParams({ client_id: "tenantry-cli" });
	await eventually(async () => {
		await exhaust(env.SIGN_INS, `device requests from ${address}`);
		const response = await send("POST", "/oauth/device_authorization", form, {
			"cf-connecting-ip": address,
		});
		expect([response.status, await response.json()]).toMatchObject([
			429,
			{ error: "temporarily_unavailable" },
		]);
	});
});

test("requests of devices are deleted an hour after they expire, and no secret is stored", async () => {
	const home = await world();
	const [waiting, allowed] = [await start(), await start()];
	await approve(home, allowed.user_code);
	const stored = JSON.stringify([
		await db.select().from(oauthCodes),
		await db.select().from(oauthDeviceRequests),
	]);
	for (const { device_code, user_code } of [waiting, allowed])
		for (const secret of [device_code, user_code, user_code.replace("-", "")])
			expect(stored).not.toContain(secret);
	const hash = await digest(waiting.device_code);
	const rows = () =>
		db.select().from(oauthDeviceRequests).where(eq(oauthDeviceRequests.device_code_hash, hash));
	await deleteOld(env, Date.now());
	expect(await rows()).toHaveLength(1);
	await deleteOld(env, Date.now() + 71 * MINUTE);
	expect(await rows()).toEqual([]);
});
