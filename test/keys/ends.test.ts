/**
 * Each way in which a key ends. Nothing has to tell KV or the isolates: D1 decides
 * (docs/internals/decisions/0002-kv-is-an-index.md).
 */
import { env, exports } from "cloudflare:workers";
import { v7 } from "uuid";
import { describe, expect, test, vi } from "vitest";
import { keyCache } from "../../src/keys/key_cache.ts";
import { digest } from "../../src/keys/keys.ts";
import { keyOf, trusting } from "../oauth/issuers/support.ts";
import { exchange, granted, refresh, revoke } from "../oauth/support.ts";
import { accept, createMailedInvite } from "../people/invites/support.ts";
import {
	complete,
	enforce,
	linkFor,
	ofPage,
	setUp,
	signIn,
	verified,
	verify,
	withFactor,
} from "../sign_in/link/support.ts";
import { withDomain } from "../sign_in/oidc/support.ts";
import { register, withPasskey } from "../sign_in/passkey/support.ts";
import { newAuthenticator } from "../support/authenticator.ts";
import { link, moveTo, SAML, sessionOf } from "../support/domains.ts";
import { provisioned } from "../support/scim.ts";
import { eventually, stopClock } from "../support/time.ts";
import { codeOf } from "../support/totp.ts";
import { call, db, insertGrant, join, person, world } from "../support/world.ts";

type Home = Awaited<ReturnType<typeof world>>;

/** A key that works, and what ends it. */
type Way = () => Promise<{ value: string; end: () => Promise<unknown> }>;

const ME = "/api/users/@me";
const PROJECTS = "/api/projects";

const use = async (key: string, path = PROJECTS) =>
	(await call("GET", path, { key, headers: { "cf-connecting-ip": v7() } })).status;

/** A new key of a tenant's owner. */
async function own(action: (home: Home, at: string) => Promise<unknown>) {
	const home = await world();
	const path = "/api/personal_api_keys";
	const { body } = await home.ask("POST", path, { body: { label: "x", scopes: ["*"] } });
	return { value: String(body.value), end: () => action(home, `${path}/${body.id}`) };
}

async function operate(command: string, options: object) {
	const outcome = JSON.parse(await exports.Operator.run(command, JSON.stringify(options)));
	expect(outcome).not.toHaveProperty("error");
}

/** A session that somebody has by mail, and what they do with another key. */
async function session(action: (user: { key: string }, id: string, value: string) => unknown) {
	const user = await verified();
	const { value, id } = await signIn(user);
	return { value, end: async () => action(user, id, value) };
}

/** A member of an organization with a session through the provider of its domain. */
async function linked() {
	const home = await withDomain(SAML);
	const user = await join(home.id, 1);
	const email = await moveTo(user, home.domain);
	const connection = `saml:${home.domain_id}`;
	await link(user.id, connection, email);
	const value = await sessionOf(user.id, { method: "saml", connection });
	return { home, user, email, connection, value };
}

/** The access of an app, and what ends it. */
async function app(
	action: (home: Home, grant: Awaited<ReturnType<typeof granted>>, id: string) => unknown,
) {
	const home = await world();
	const grant = await granted(home);
	const { body } = await home.ask("GET", `${ME}/oauth_grants`);
	return { value: grant.access, end: async () => action(home, grant, body.results[0].id) };
}

/** A key of a service account. */
async function account(action: (home: Home, at: string, id: string) => Promise<unknown>) {
	const home = await world();
	const { body } = await home.here("POST", "/service_accounts", { body: { name: "Deploy" } });
	const at = `/service_accounts/${body.id}`;
	const made = await home.here("POST", `${at}/keys`, { body: { label: "x", scopes: ["*"] } });
	return { value: String(made.body.value), end: () => action(home, at, made.body.id) };
}

/** A key of a job. */
async function job(
	action: (home: Awaited<ReturnType<typeof trusting>>, value: string) => Promise<unknown>,
) {
	const home = await trusting();
	const value = await keyOf(home);
	return { value, end: () => action(home, value) };
}

/** A member whom SCIM manages, and their key. */
async function employee(
	action: (home: Awaited<ReturnType<typeof provisioned>>, path: string) => Promise<unknown>,
) {
	const home = await provisioned();
	const { uuid, key } = await home.employee();
	return { value: key, end: () => action(home, `/Users/${uuid}`) };
}

const WAYS: Record<string, Way> = {
	"a key is deleted": () => own((home, at) => home.ask("DELETE", at)),
	"a key is rolled": () => own((home, at) => home.ask("POST", `${at}/roll`)),
	"the operator revokes a key": () =>
		own((_, at) => operate("key revoke", { id: at.split("/").at(-1) })),
	"the holder of a mailed invite takes over a user with an unproved address": async () => {
		const [home, user] = [await world(), await person()];
		const { token } = await createMailedInvite(home, { target_email: user.email });
		return { value: user.key, end: () => accept(token) };
	},
	"a user proves an address by signing in": async () => {
		const user = await person();
		return { value: user.key, end: () => signIn(user) };
	},
	"a session is ended by its user": () =>
		session(({ key }, id) => call("DELETE", `${ME}/sessions/${id}`, { key })),
	"all other sessions are ended": () =>
		session(({ key }) => call("POST", `${ME}/sessions/end_others`, { key })),
	"somebody signs out": () =>
		session((_, __, value) => call("POST", "/api/sign_in/end", { headers: ofPage(value) })),
	"somebody signs in again with the same browser": async () => {
		const user = await verified();
		const { value } = await signIn(user);
		return { value, end: () => signIn(user, { headers: ofPage(value) }) };
	},
	"a user has too many sessions": async () => {
		const user = await verified();
		const value = await sessionOf(user.id);
		for (let n = 0; n < 24; n += 1) await sessionOf(user.id);
		return { value, end: () => signIn(user) };
	},
	"an app for codes is set up": async () => {
		const user = await verified();
		const post = (action: string, body?: object) =>
			call("POST", `${ME}/two_factor/${action}`, { key: user.key, ...(body && { body }) });
		const { secret } = (await post("begin")).body;
		const end = async () => post("confirm", { code: await codeOf(secret) });
		return { value: await sessionOf(user.id), end };
	},
	"the app for codes is removed": async () => {
		const { id, key, codes } = await withFactor();
		const body = { code: codes[0] };
		const end = () => call("POST", `${ME}/two_factor/disable`, { key, body });
		return { value: await sessionOf(id), end };
	},
	"a second factor is set up while signing in": async () => {
		const home = await world();
		await verify(home.owner);
		await enforce(home);
		const token = await linkFor(home.owner);
		const { secret } = (await setUp({ token })).body;
		const end = async () => complete({ token, code: await codeOf(secret) });
		return { value: await sessionOf(home.owner.id), end };
	},
	"the first passkey is added": async () => {
		const user = await verified();
		const end = async () => register(user, await newAuthenticator());
		return { value: await sessionOf(user.id), end };
	},
	"a passkey is removed": async () => {
		const { id, key, passkey, codes } = await withPasskey();
		const body = { code: codes[0] };
		const end = () => call("POST", `${ME}/passkeys/${passkey}/remove`, { key, body });
		return { value: await sessionOf(id), end };
	},
	"the operator resets a second factor": async () => {
		const { id, email } = await withFactor();
		const end = () => operate("user reset-two-factor", { email });
		return { value: await sessionOf(id), end };
	},
	"somebody removes their account at a provider": async () => {
		const { user, connection, value } = await linked();
		const path = `${ME}/identities/${connection}`;
		return { value, end: () => call("DELETE", path, { key: user.key }) };
	},
	"an admin unlinks a member's account at a provider": async () => {
		const { home, user, connection, value } = await linked();
		const path = `/members/${user.uuid}/identities/${connection}`;
		return { value, end: () => home.here("DELETE", path) };
	},
	"the operator unlinks a user's accounts at providers": async () => {
		const { email, value } = await linked();
		return { value, end: () => operate("user unlink", { email }) };
	},
	"an admin removes a member": async () => {
		const { home, user, value } = await linked();
		return { value, end: () => home.here("DELETE", `/members/${user.uuid}`) };
	},
	"a domain is deleted": async () => {
		const { home, value } = await linked();
		return { value, end: () => home.here("DELETE", `/domains/${home.domain_id}`) };
	},
	"a domain enforces single sign-on": async () => {
		const home = await withDomain(SAML);
		const email = await moveTo(home.owner, home.domain);
		await link(home.owner.id, `saml:${home.domain_id}`, email);
		const value = await sessionOf(home.owner.id);
		const body = { sso_enforcement: "saml" };
		return { value, end: () => home.here("PATCH", `/domains/${home.domain_id}`, { body }) };
	},
	"the operator enforces single sign-on for a domain": async () => {
		const home = await withDomain(SAML);
		await moveTo(home.owner, home.domain);
		const value = await sessionOf(home.owner.id);
		const options = { domain: home.domain, sso: "saml" };
		return { value, end: () => operate("domain enforce", options) };
	},
	"SCIM deactivates a member": () =>
		employee((home, path) => home.patch(path, { op: "replace", path: "active", value: false })),
	"SCIM deletes a member": () => employee((home, path) => home.scim("DELETE", path)),
	"somebody ends the access of their app": () =>
		app((home, _, id) => home.ask("DELETE", `${ME}/oauth_grants/${id}`)),
	"an admin ends the access of a member's app": () =>
		app((home, _, id) => home.here("DELETE", `/oauth_grants/${id}`)),
	"an app gives up its access": () => app((_, { client_id, access }) => revoke(client_id, access)),
	"an app gets its next tokens": () => app((_, grant) => refresh(grant.client_id, grant.refresh)),
	"a refresh token is used twice": async () => {
		stopClock();
		const { client_id, refresh: first } = await granted(await world());
		const { access_token: value } = await refresh(client_id, first);
		vi.setSystemTime(Date.now() + 31_000);
		return { value, end: () => refresh(client_id, first).catch(() => {}) };
	},
	"a code is used twice": () => app((_, { code, asked }) => exchange(code, asked).catch(() => {})),
	"a user has too many apps": async () => {
		const home = await world();
		const { access: value } = await granted(home);
		for (let n = 0; n < 49; n += 1) await db.batch([...insertGrant(home.owner.id, v7())]);
		return { value, end: () => granted(home) };
	},
	"an organization deletes an app": async () => {
		const home = await world();
		const { body } = await home.here("POST", "/oauth_clients", {
			body: { name: "Notes", redirect_uris: ["https://notes.example/callback"] },
		});
		const { access: value } = await granted(home, { client_id: body.id });
		return { value, end: () => home.here("DELETE", `/oauth_clients/${body.id}`) };
	},
	"a key of a service account is deleted": () =>
		account((home, at, id) => home.here("DELETE", `${at}/keys/${id}`)),
	"a service account is deleted": () => account((home, at) => home.here("DELETE", at)),
	"the organization of a service account is deleted": () =>
		account((home) => home.here("DELETE", "")),
	"a trusted issuer gets other rules": () =>
		job((home) => home.here("PATCH", home.at, { body: { subject: "another" } })),
	"a trusted issuer is deleted": () => job((home) => home.here("DELETE", home.at)),
	"a job gives up its key": () => job(({ trust }, value) => revoke(trust.id, value)),
};

describe("the next request with it is a 401, although the isolate and KV have its record, if", () => {
	test.each(Object.entries(WAYS))("%s", async (_, begin) => {
		const { value, end } = await begin();
		const hash = await digest(value);
		const records = async () => [keyCache.get(hash), await env.KEYS.get(`key:${hash}`)];
		expect(await use(value)).toBe(200);
		const known = [expect.anything(), expect.any(String)];
		await eventually(async () => expect(await records()).toEqual(known));
		await end();
		// Nothing has removed them.
		expect(await records()).toEqual(known);
		expect(await use(value)).toBe(401);
		expect(await records()).toEqual([undefined, null]);
		expect(await use(value)).toBe(401);
	});

	test.each<[string, Way]>([
		[
			"its end is changed to a time in the past",
			() => own((home, at) => home.ask("PATCH", at, { body: { expires_at: "2026-01-01" } })),
		],
		[
			"the operator deactivates its user",
			() => own(({ owner }) => operate("user deactivate", { email: owner.email })),
		],
	])("%s", async (_, begin) => {
		const { value, end } = await begin();
		expect(await use(value)).toBe(200);
		await end();
		expect([await use(value), await use(value)]).toEqual([401, 401]);
	});
});
