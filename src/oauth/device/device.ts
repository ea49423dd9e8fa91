import { and, eq, gt, type SQL, sql } from "drizzle-orm";
import type { Context } from "hono";
import type * as z from "zod";
import type { Tenant } from "../../access/tenant.ts";
import { retry } from "../../access/unit_of_work.ts";
import { currentOrganization } from "../../access/visible.ts";
import { connect } from "../../db/bookmark.ts";
import { assertExists, type Database, runBatch } from "../../db/client.ts";
import { oauthDeviceRequests } from "../../db/schema/oauth.ts";
import type { App } from "../../env.ts";
import { invalid } from "../../http/errors.ts";
import { countFailure } from "../../keys/addresses.ts";
import { digest, isWellFormed, newValue } from "../../keys/keys.ts";
import { limitNetwork } from "../../keys/network_limits.ts";
import { shorten } from "../../lib/text.ts";
import { now } from "../../lib/time.ts";
import { MAX_NAME_CHARACTERS } from "../apps/metadata.ts";
import { rejectionOf } from "../consents/consents.ts";
import { invalidCode, selectCode, useCode } from "../exchange/code.ts";
import { OauthError } from "../protocol/errors.ts";
import type { Form } from "../protocol/form.ts";
import { checkResource, issuerOf, type Service } from "../protocol/service.ts";
import { DEVICE_CODE_MS, DEVICE_GRANT, deviceCodeExpiry } from "../protocol/tokens.ts";
import { checkChoice, selectForChoice, store } from "../requests/approve.ts";
import { type AccessRequest, audienceIn, identify, toDescription } from "../requests/request.ts";
import * as shape from "../requests/shape.ts";

/*
 * Devices and programs that can't open a browser (RFC 8628): they show a code, which the person
 * enters on a page of the console.
 */

/** How often a device should ask, in seconds. */
const INTERVAL_SECONDS = 5;

/** No vowels, so that no code is a word, and nothing that looks like a digit (section 6.1). */
const LETTERS = "BCDFGHJKLMNPQRSTVWXZ";

const LENGTH = 8;

/** Returns a code of eight letters: 34 bits, which nobody can find within the limits of attempts. */
function newUserCode() {
	let [bits = 0n] = crypto.getRandomValues(new BigUint64Array(1));
	let code = "";
	for (; code.length < LENGTH; bits /= 20n) code += LETTERS.charAt(Number(bits % 20n));
	return code;
}

/** Returns a code as it was generated, from what a person has entered. */
const readUserCode = (text: string) => text.toUpperCase().replace(/[^A-Z]/g, "");

/** A device code begins with the code of the person, by which its row is found. */
const prefixOf = (userCode: string) => `tnt_dc_${userCode}_`;

const START = /^tnt_dc_([A-Z]{8})_/;

/** Starts a request of a device (section 3.1). */
export async function authorizeDevice(c: Context<App>, form: Form) {
	// Each writes a row.
	await limitNetwork(c, "device requests", 10);
	const service = { env: c.env, url: c.req.url };
	const { data } = shape.deviceRequest.safeParse({
		client_id: form.required("client_id"),
		scope: form.optional("scope"),
		resource: form.optional("resource"),
	});
	if (!data) throw new OauthError("invalid_request", "A parameter is too long.");
	const audience = audienceIn(service, data.resource);
	const request = { client_id: data.client_id, scope: data.scope, audience };
	await checkRequest(service, request);
	const userCode = newUserCode();
	const device_code = newValue(prefixOf(userCode));
	const { db } = connect(c);
	await db.batch([
		db.insert(oauthDeviceRequests).values({
			user_code_hash: await digest(userCode),
			device_code_hash: await digest(device_code),
			request,
			expires_at: deviceCodeExpiry(null),
		}),
	]);
	const user_code = `${userCode.slice(0, 4)}-${userCode.slice(4)}`;
	const verification_uri = `${issuerOf(service)}/console/device`;
	return {
		...{ device_code, user_code, verification_uri },
		verification_uri_complete: `${verification_uri}?user_code=${user_code}`,
		expires_in: DEVICE_CODE_MS / 1000,
		interval: INTERVAL_SECONDS,
	};
}

/**
 * Checks the request of a device. Its app must use device codes: otherwise anybody could ask in the
 * name of any app, without a redirect URI that proves who gets the tokens.
 */
async function checkRequest(service: Service, request: Row["request"]): Promise<AccessRequest> {
	const { client, scopes } = await identify(service, request);
	if (!client.grant_types.includes(DEVICE_GRANT))
		throw new OauthError("unauthorized_client", "The app doesn't use device codes.");
	return { client, scopes, audience: request.audience };
}

/**
 * Exchanges a device code for the first tokens of a consent (section 3.4). Asking again before the
 * person has decided writes nothing. A device that asks more than once a second has to slow down.
 */
export const exchangeDeviceCode = (c: Context<App>, form: Form) =>
	retry(async () => {
		const value = form.required("device_code");
		const client_id = form.required("client_id");
		const [start, userCode] = START.exec(value) ?? [];
		if (!start || !userCode || !isWellFormed(value, start))
			throw await countFailure(c, invalidCode());
		const hash = await digest(value);
		const { success } = await c.env.AUTH_FAILURES.limit({ key: `device ${hash}` });
		if (!success) throw new OauthError("slow_down", "The device asks too often.");
		const { db } = connect(c);
		const isThis = eq(oauthDeviceRequests.user_code_hash, await digest(userCode));
		const { codes, consents, requests } = await runBatch(db, {
			...selectCode(db, hash),
			requests: db.select().from(oauthDeviceRequests).where(isThis),
		});
		const row = requests.find(({ device_code_hash }) => device_code_hash === hash);
		const [code] = codes;
		const request = code?.approval ?? row?.request;
		if (request?.client_id !== client_id) throw await countFailure(c, invalidCode());
		checkResource({ env: c.env, url: c.req.url }, form, request);
		if (code) return useCode(c, db, { code, consents });
		throw whyNotYet(row);
	});

/** Returns why the device doesn't get tokens (section 3.5). */
function whyNotYet(row: Row | undefined) {
	if (!row || row.expires_at <= now())
		return new OauthError("expired_token", "The code has expired.");
	return row.is_denied
		? new OauthError("access_denied", "The person has denied the access.")
		: new OauthError("authorization_pending", "The person hasn't decided yet.");
}

type Row = typeof oauthDeviceRequests.$inferSelect;

/** SQL condition: the request waits for a decision. */
const isWaiting = (where: SQL) =>
	and(where, eq(oauthDeviceRequests.is_denied, false), gt(oauthDeviceRequests.expires_at, now()));

const selectWaiting = (db: Database, isThis: SQL) =>
	db.select().from(oauthDeviceRequests).where(isWaiting(isThis));

const byUserCode = async ({ user_code }: z.infer<typeof shape.userCode>) =>
	eq(oauthDeviceRequests.user_code_hash, await digest(readUserCode(user_code)));

/** @throws 400 if no device waits with the code */
function orNotWaiting(row: Row | undefined) {
	if (!row)
		throw invalid(
			"user_code",
			"No device is waiting with this code. It may have expired: start again on the device.",
		);
	return row;
}

/** Returns the description of a device's request for the person. Writes nothing. */
export async function preview(tenant: Tenant, body: z.infer<typeof shape.userCode>) {
	const [[row]] = await tenant.read(selectWaiting(tenant.db, await byUserCode(body)));
	return toDescription(await checkRequest(tenant, orNotWaiting(row).request));
}

/** SQL for the `client_id` of the app on the device. */
const clientOf = (isThis: SQL) =>
	sql`(select ${oauthDeviceRequests.request} ->> 'client_id' from ${oauthDeviceRequests} where ${isThis})`;

/**
 * Allows a device what it asks for, or a part of it.
 * @throws as `approve`, and 400 if no device waits with the code
 */
export const approve = (tenant: Tenant, body: z.infer<typeof shape.deviceApproval>) =>
	retry(async () => {
		const isThis = await byUserCode(body);
		const [[row], ...answers] = await tenant.read(
			selectWaiting(tenant.db, isThis),
			...selectForChoice(tenant, body, clientOf(isThis)),
		);
		const device = orNotWaiting(row);
		const request = await checkRequest(tenant, device.request);
		await checkChoice(tenant, { choice: body, client: request.client }, answers);
		await store(tenant, {
			choice: body,
			request,
			code: {
				hash: device.device_code_hash,
				expires_at: deviceCodeExpiry(body.ends_at ?? null),
				redirect_uri: null,
				code_challenge: null,
			},
			more: {
				checks: [assertExists(tenant.db, oauthDeviceRequests, isWaiting(isThis))],
				changes: [tenant.db.delete(oauthDeviceRequests).where(isThis)],
			},
		});
	});

/**
 * Denies a device what it asks for. This is final.
 * @throws 400 if no device waits with the code
 */
export const deny = (tenant: Tenant, body: z.infer<typeof shape.userCode>) =>
	retry(async () => {
		const isThis = await byUserCode(body);
		const [[row]] = await tenant.read(selectWaiting(tenant.db, isThis));
		const { client_id } = orNotWaiting(row).request;
		// The app isn't asked for its name: a denial must not depend on its host.
		const client = { client_id, name: shorten(client_id, MAX_NAME_CHARACTERS) };
		const { user_id } = tenant.key;
		await tenant.write({
			checks: [assertExists(tenant.db, oauthDeviceRequests, isWaiting(isThis))],
			changes: [tenant.db.update(oauthDeviceRequests).set({ is_denied: true }).where(isThis)],
			entries: [
				rejectionOf(client, user_id, { organization: currentOrganization(user_id), job: "person" }),
			],
		});
	});
