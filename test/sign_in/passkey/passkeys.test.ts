import { eq } from "drizzle-orm";
import { v7 } from "uuid";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { activityLog } from "../../../src/db/schema/activity_log.ts";
import { users } from "../../../src/db/schema/people.ts";
import { passkeys } from "../../../src/db/schema/sign_in.ts";
import { newAuthenticator } from "../../support/authenticator.ts";
import { outbox } from "../../support/mail.ts";
import { stopClock } from "../../support/time.ts";
import { codeOf } from "../../support/totp.ts";
import {
	call,
	cost,
	db,
	join,
	keyFor,
	person,
	racing,
	serviceAccount,
	times,
	world,
} from "../../support/world.ts";
import {
	enforce,
	keysOf,
	rejected,
	SESSION,
	verified,
	verify,
	withFactor,
} from "../link/support.ts";
import {
	begin,
	factorOf,
	invalidPasskey,
	PATH,
	post,
	proof,
	register,
	rowsOf,
	withBoth,
	withPasskey,
} from "./support.ts";

beforeEach(() => stopClock());

const HOUR = 3_600_000;

const proofRequired = rejected("two_factor_required", "code");

/** A key of a session of the user. */
const session = ({ id }: { id: number }) =>
	keyFor(id, { ...SESSION, expires_at: new Date(Date.now() + HOUR).toISOString() });

const statusOf = async (key: string) => (await call("GET", "/api/users/@me", { key })).status;

const factor = async ({ key }: { key: string }) =>
	(await call("GET", "/api/users/@me/two_factor", { key })).body;

describe("registering", () => {
	test("tells the browser what to make, and lists the passkey without its public key", async () => {
		const user = await verified();
		const authenticator = await newAuthenticator();
		const options = await begin(user);
		expect(options).toEqual({
			rp: { id: "app.tenantry.test", name: "Tenantry" },
			user: { id: expect.any(String), name: user.email, displayName: user.email },
			challenge: expect.stringMatching(/^[\w-]{43}$/),
			pubKeyCredParams: [-8, -7, -257].map((alg) => ({ type: "public-key", alg })),
			timeout: 600_000,
			excludeCredentials: [],
			authenticatorSelection: { residentKey: "preferred", userVerification: "preferred" },
			attestation: "none",
		});
		const credential = await authenticator.register(options);
		const created = await post(user, "", { name: " Laptop ", credential });
		const shown = {
			...{ name: "Laptop", transports: ["internal"], is_backed_up: false },
			...{ created_at: new Date().toISOString(), last_used_at: null },
		};
		expect(created).toMatchObject({ status: 201, body: shown });
		expect(cost(created).trips).toBe(2);
		const { recovery_codes: _, ...passkey } = created.body;
		const read = async (path: string) => (await call("GET", path, { key: user.key })).body;
		expect(await read(PATH)).toMatchObject({ count: 1, results: [passkey] });
		expect(await read(`${PATH}/${passkey.id}`)).toEqual(passkey);
		const { excludeCredentials } = await begin(user);
		expect(excludeCredentials).toEqual([
			{ type: "public-key", id: authenticator.id, transports: ["internal"] },
		]);
	});

	test("the first factor enables the second factor, gives recovery codes and ends other sessions", async () => {
		const user = await verified();
		const [mine, other] = [await session(user), await session(user)];
		const { status, body } = await register({ key: mine }, await newAuthenticator());
		expect(status).toBe(201);
		expect(body.recovery_codes).toHaveLength(10);
		expect(await Promise.all([mine, other, user.key].map(statusOf))).toEqual([200, 401, 200]);
		expect(await factor(user)).toEqual({
			...{ is_enabled: true, enabled_at: null, passkeys: 1 },
			...{ is_required: false, recovery_codes_left: 10 },
		});
		expect((await factorOf(user))?.is_2fa_enabled).toBe(true);
	});

	test("another passkey takes a proof: a code, a recovery code or a passkey; sessions stay", async () => {
		const user = await withPasskey();
		const kept = await session(user);
		const [second, third] = [await newAuthenticator(), await newAuthenticator()];
		expect(await register(user, second)).toMatchObject(proofRequired);
		expect(await register(user, second, { code: "000000" })).toMatchObject(
			rejected("invalid_code", "code"),
		);
		const [code = ""] = user.codes;
		const added = await register(user, second, { code });
		expect(added).toMatchObject({ status: 201, body: { recovery_codes: null } });
		expect(await register(user, third, { code })).toMatchObject(rejected("invalid_code", "code"));
		const given = await proof(user, second);
		expect((await register(user, third, given)).status).toBe(201);
		expect(await rowsOf(user)).toHaveLength(3);
		expect(await statusOf(kept)).toBe(200);
		expect((await factor(user)).recovery_codes_left).toBe(9);
	});

	test("with an authenticator app takes a code of it", async () => {
		const user = await withFactor();
		const authenticator = await newAuthenticator();
		expect(await register(user, authenticator)).toMatchObject(proofRequired);
		const code = await codeOf(user.secret);
		expect((await register(user, authenticator, { code })).body.recovery_codes).toBe(null);
		expect(await register(user, await newAuthenticator(), { code })).toMatchObject(
			rejected("invalid_code", "code"),
		);
	});

	test.each([
		["for another site", { origin: "https://evil.test" }],
		["for another RP ID", { rp_id: "evil.test" }],
		["as a sign-in", { type: "webauthn.get" }],
	])("rejects a passkey %s", async (_, broken) => {
		const user = await verified();
		const authenticator = await newAuthenticator();
		const credential = await authenticator.register(await begin(user), broken);
		expect(await post(user, "", { name: "x", credential })).toMatchObject(
			invalidPasskey("credential"),
		);
		expect(await rowsOf(user)).toEqual([]);
		expect((await factorOf(user))?.is_2fa_enabled).toBe(false);
	});

	test("rejects challenges that are made up, another user's, for a proof, used or too old", async () => {
		const [user, other] = [await verified(), await withPasskey()];
		const authenticator = await newAuthenticator();
		const send = async (challenge: string) =>
			post(user, "", {
				name: "x",
				credential: await authenticator.register({ challenge, user: { id: "eA" } }),
			});
		const { challenge: proving } = (await post(other, "/challenge")).body;
		const { challenge: theirs } = await begin(other);
		const { challenge: old } = await begin(user);
		for (const challenge of ["x".repeat(43), "", theirs, proving])
			expect(await send(challenge)).toMatchObject(invalidPasskey("credential"));
		vi.setSystemTime(Date.now() + 600_000);
		expect(await send(old)).toMatchObject(invalidPasskey("credential"));
		const { challenge } = await begin(user);
		expect((await send(challenge)).status).toBe(201);
		const [code = ""] = other.codes;
		const again = await authenticator.register({ challenge, user: { id: "eA" } });
		expect(await post(user, "", { name: "x", credential: again, code })).not.toMatchObject({
			status: 201,
		});
		expect(await rowsOf(user)).toHaveLength(1);
	});

	test("rejects data that isn't a passkey", async () => {
		const user = await verified();
		const credential = await (await newAuthenticator()).register(await begin(user));
		const { response } = credential;
		for (const broken of [
			{ ...credential, id: "AAAA" },
			{ ...credential, response: { ...response, attestationObject: "AAAA" } },
			{ ...credential, response: { ...response, attestationObject: "*" } },
			{ ...credential, response: { ...response, clientDataJSON: "*" } },
			{ ...credential, response: { ...response, clientDataJSON: "bnVsbA" } },
		])
			expect(await post(user, "", { name: "x", credential: broken })).toMatchObject(
				invalidPasskey("credential"),
			);
	});

	test("a passkey that is registered already, also by another user, is a 400", async () => {
		const [one, other] = [await verified(), await verified()];
		const authenticator = await newAuthenticator();
		expect((await register(one, authenticator)).status).toBe(201);
		expect(await register(other, authenticator)).toMatchObject({
			status: 400,
			body: { code: "unique" },
		});
		expect(await factor(other)).toMatchObject({ is_enabled: false, passkeys: 0 });
	});

	test("one of several parallel registrations with one challenge succeeds", async () => {
		const user = await verified();
		const options = await begin(user);
		const responses = await Promise.all(
			Array.from({ length: 10 }, async () => {
				const credential = await (await newAuthenticator()).register(options);
				return post(user, "", { name: "x", credential });
			}),
		);
		expect(responses.filter(({ status }) => status === 201)).toHaveLength(1);
		expect(await rowsOf(user)).toHaveLength(1);
	});

	test("a second factor that is enabled meanwhile must be proved", async () => {
		const user = await verified();
		const credential = await (await newAuthenticator()).register(await begin(user));
		const enable = async () => {
			expect((await register(user, await newAuthenticator())).status).toBe(201);
		};
		const late = await post(user, "", { name: "x", credential }, { env: racing(enable) });
		expect(late).toMatchObject(proofRequired);
	});

	test("makes an authenticator app invalid that wasn't confirmed before", async () => {
		const user = await verified();
		const path = "/api/users/@me/two_factor";
		const { secret } = (await call("POST", `${path}/begin`, { key: user.key })).body;
		expect((await register(user, await newAuthenticator())).status).toBe(201);
		const body = { code: await codeOf(secret) };
		expect(await call("POST", `${path}/confirm`, { key: user.key, body })).toMatchObject(
			rejected("invalid_input"),
		);
	});

	test("a user has at most 20 passkeys", async () => {
		const user = await withPasskey();
		const [row] = await rowsOf(user);
		if (!row) throw new Error("There is no passkey.");
		const add = (i: number) => ({ ...row, id: v7(), credential_id: String(i) });
		await times(18, (i) => db.insert(passkeys).values(add(i)));
		const given = await proof(user, user.authenticator);
		expect((await register(user, await newAuthenticator(), given)).status).toBe(201);
		expect(await post(user, "/begin")).toMatchObject(rejected("invalid_input"));
	});
});

describe("who may register", () => {
	test("nobody with a key that can do less than the passkey", async () => {
		const user = await verified();
		const home = await world();
		const expires_at = new Date(Date.now() + HOUR).toISOString();
		const headers = { "cf-connecting-ip": "192.0.2.7" };
		for (const options of [
			{ scopes: ["user:write"] },
			{ scoped_organizations: [home.id] },
			{ allowed_ips: ["192.0.2.0/24"] },
			{ expires_at },
		]) {
			const key = await keyFor(user.id, options);
			expect((await post({ key }, "/begin", undefined, { headers })).status).toBe(403);
			const credential = await (await newAuthenticator()).register(await begin(user));
			const registered = await post({ key }, "", { name: "x", credential }, { headers });
			expect(registered.status).toBe(403);
		}
		expect(await rowsOf(user)).toEqual([]);
	});

	test("not somebody whose address isn't proved, nor a service account", async () => {
		const user = await person();
		expect(await post(user, "/begin")).toMatchObject(rejected("verification_required"));
		const account = await serviceAccount(await world());
		const key = await keyFor(account.user_id);
		expect((await post({ key }, "/begin")).status).toBe(403);
		await verify(user);
		const credential = await (await newAuthenticator()).register(await begin(user));
		await db.update(users).set({ is_email_verified: false }).where(eq(users.id, user.id));
		expect(await post(user, "", { name: "x", credential })).toMatchObject(
			rejected("verification_required"),
		);
	});

	test("where APP_URL isn't set, only on localhost", async () => {
		const user = await verified();
		const env = { APP_URL: "" };
		expect(await post(user, "/begin", undefined, { env })).toMatchObject(rejected("invalid_input"));
		const local = await call("POST", `http://localhost:8787${PATH}/begin`, { key: user.key, env });
		expect(local.body.rp.id).toBe("localhost");
		const authenticator = await newAuthenticator();
		const site = { origin: "http://localhost:8787", rp_id: "localhost" };
		const credential = await authenticator.register(local.body, site);
		const url = `http://localhost:8787${PATH}`;
		const body = { name: "x", credential };
		expect((await call("POST", url, { key: user.key, env, body })).status).toBe(201);
	});
});

describe("a proof", () => {
	test.each([
		["for another site", { origin: "https://evil.test" }],
		["for another RP ID", { rp_id: "evil.test" }],
		["as a registration", { type: "webauthn.create" }],
	])("%s is rejected", async (_, broken) => {
		const user = await withPasskey();
		const body = await proof(user, user.authenticator, broken);
		expect(await post(user, `/${user.passkey}/remove`, body)).toMatchObject(
			invalidPasskey("passkey"),
		);
		expect(await rowsOf(user)).toHaveLength(1);
	});

	test("doesn't need the device to verify the user", async () => {
		const user = await withPasskey();
		const body = await proof(user, user.authenticator, { isVerified: false });
		expect((await post(user, `/${user.passkey}/remove`, body)).status).toBe(204);
	});

	test("with a changed signature, or with the passkey or the challenge of another user, is rejected", async () => {
		const [user, other] = [await withPasskey(), await withPasskey()];
		const { passkey } = await proof(user, user.authenticator);
		const { authenticatorData, clientDataJSON, signature } = passkey.response;
		const { challenge } = (await post(other, "/challenge")).body;
		const flipped = authenticatorData.startsWith("A") ? "B" : "A";
		const changed = { authenticatorData: flipped + authenticatorData.slice(1) };
		const shortened = { signature: signature.slice(0, -4) };
		for (const broken of [
			{ ...passkey, response: { ...passkey.response, ...changed } },
			{ ...passkey, response: { ...passkey.response, ...shortened } },
			{ ...passkey, response: { ...passkey.response, clientDataJSON: `${clientDataJSON}AAAA` } },
			{ ...passkey, id: other.authenticator.id },
			await other.authenticator.use(await (await post(user, "/challenge")).body),
			await user.authenticator.use({ challenge }),
			await user.authenticator.use(await begin(user)),
		])
			expect(await post(user, `/${user.passkey}/remove`, { passkey: broken })).toMatchObject(
				invalidPasskey("passkey"),
			);
		expect(await rowsOf(user)).toHaveLength(1);
		expect((await post(user, `/${user.passkey}/remove`, { passkey })).status).toBe(204);
	});

	test("works once, also in parallel, for ten minutes", async () => {
		const user = await withPasskey();
		const path = "/api/users/@me/two_factor/recovery_codes";
		const body = await proof(user, user.authenticator);
		const responses = await Promise.all(
			Array.from({ length: 10 }, () => call("POST", path, { key: user.key, body })),
		);
		expect(responses.filter(({ status }) => status === 200)).toHaveLength(1);
		vi.setSystemTime(Date.now() + HOUR);
		expect(await call("POST", path, { key: user.key, body })).toMatchObject(
			invalidPasskey("passkey"),
		);
		const late = await proof(user, user.authenticator);
		vi.setSystemTime(Date.now() + 600_000);
		expect(await post(user, `/${user.passkey}/remove`, late)).toMatchObject(
			invalidPasskey("passkey"),
		);
	});

	test("whose counter doesn't go up is rejected, as a copy of the passkey would send it", async () => {
		const user = await withPasskey({ count: 5 });
		const path = "/api/users/@me/two_factor/recovery_codes";
		const send = async (count: number) => {
			const body = await proof(user, user.authenticator, { count });
			return call("POST", path, { key: user.key, body });
		};
		expect((await send(7)).status).toBe(200);
		for (const count of [7, 6, 0])
			expect(await send(count)).toMatchObject(invalidPasskey("passkey"));
		expect((await send(8)).status).toBe(200);
		expect(await rowsOf(user)).toMatchObject([
			{ sign_count: 8, last_used_at: new Date().toISOString() },
		]);
	});

	test("counts as an attempt if it is wrong: ten an hour, together with codes", async () => {
		const user = await withPasskey();
		const path = "/api/users/@me/two_factor/recovery_codes";
		const send = (body: object) => call("POST", path, { key: user.key, body });
		const wrong = await proof(user, user.authenticator, { origin: "https://evil.test" });
		const right = await proof(user, user.authenticator);
		const responses = await Promise.all(
			Array.from({ length: 20 }, (_, i) => send(i % 2 ? wrong : { code: "wrong" })),
		);
		expect(responses.filter(({ status }) => status === 400)).toHaveLength(10);
		expect(responses.filter(({ status }) => status === 429)).toHaveLength(10);
		expect((await send(right)).status).toBe(429);
		vi.setSystemTime(Date.now() + HOUR);
		expect((await send(await proof(user, user.authenticator))).status).toBe(200);
		expect((await factorOf(user))?.attempts).toBe(0);
	});

	test("of somebody without a passkey can't be asked for", async () => {
		expect(await post(await verified(), "/challenge")).toMatchObject(rejected("invalid_input"));
	});
});

describe("renaming and removing", () => {
	test("another user's passkey can't be seen, renamed or removed", async () => {
		const [user, attacker] = [await withPasskey(), await withPasskey()];
		const missing = { status: 404 };
		const { key } = attacker;
		for (const owner of ["@me", user.uuid]) {
			const url = `/api/users/${owner}/passkeys/${user.passkey}`;
			expect(await call("GET", url, { key })).toMatchObject(missing);
			expect(await call("PATCH", url, { key, body: { name: "x" } })).toMatchObject(missing);
			const body = await proof(attacker, attacker.authenticator);
			expect(await call("POST", `${url}/remove`, { key, body })).toMatchObject(missing);
		}
		expect(await call("GET", `/api/users/${user.uuid}/passkeys`, { key })).toMatchObject(missing);
		expect(await rowsOf(user)).toMatchObject([{ name: "Laptop" }]);
	});

	test("removing takes a proof, and the last factor takes everything with it", async () => {
		const user = await withPasskey();
		const [mine, other] = [await session(user), await session(user)];
		const url = `/${user.passkey}/remove`;
		expect(await post({ key: mine }, url, {})).toMatchObject(rejected("required", "code"));
		const [code = ""] = user.codes;
		const removed = await post({ key: mine }, url, { code });
		expect(removed.status).toBe(204);
		expect(cost(removed).trips).toBe(2);
		expect(await Promise.all([mine, other, user.key].map(statusOf))).toEqual([200, 401, 200]);
		expect(await factor(user)).toMatchObject({ is_enabled: false, recovery_codes_left: 0 });
		expect(await factorOf(user)).toMatchObject({ is_2fa_enabled: false, secret: null });
		expect((await register(user, await newAuthenticator())).body.recovery_codes).toHaveLength(10);
	});

	test("the app and the recovery codes outlast a passkey, and the passkey outlasts the app", async () => {
		const user = await withBoth();
		const given = await proof(user, user.authenticator);
		expect((await post(user, `/${user.passkey}/remove`, given)).status).toBe(204);
		expect(await factor(user)).toMatchObject({ is_enabled: true, recovery_codes_left: 9 });
		const other = await withBoth();
		const url = "/api/users/@me/two_factor/disable";
		const body = await proof(other, other.authenticator);
		expect(await call("POST", url, { key: other.key, body })).toMatchObject({
			status: 200,
			body: { is_enabled: true, enabled_at: null, passkeys: 1, recovery_codes_left: 9 },
		});
		expect(await factorOf(other)).toMatchObject({ is_2fa_enabled: true, secret: null });
		const [code = ""] = other.codes;
		expect((await post(other, `/${other.passkey}/remove`, { code })).status).toBe(204);
		expect((await factorOf(other))?.is_2fa_enabled).toBe(false);
	});

	test("where an organization requires a second factor, the last one stays", async () => {
		const home = await world();
		const member = await join(home.id, 1);
		await verify(member);
		const authenticator = await newAuthenticator();
		const { body } = await register(member, authenticator);
		await enforce(home);
		const url = `/${body.id}/remove`;
		const kept = await post(member, url, await proof(member, authenticator));
		expect(kept).toMatchObject(rejected("invalid_input"));
		await enforce(home, false);
		const meanwhile = await post(member, url, await proof(member, authenticator), {
			env: racing(() => enforce(home)),
		});
		expect(meanwhile).toMatchObject(rejected("invalid_input"));
		const second = await newAuthenticator();
		const added = await register(member, second, await proof(member, authenticator));
		expect(added.status).toBe(201);
		expect((await post(member, url, await proof(member, second))).status).toBe(204);
	});

	test("of two passkeys that are removed at the same time, the last one stays if it is required", async () => {
		const home = await world();
		const member = await join(home.id, 1);
		await verify(member);
		const [one, other] = [await newAuthenticator(), await newAuthenticator()];
		const first = await register(member, one);
		const second = await register(member, other, await proof(member, one));
		await enforce(home);
		const remove = async (id: string) => post(member, `/${id}/remove`, await proof(member, one));
		const responses = await Promise.all([remove(first.body.id), remove(second.body.id)]);
		expect(responses.filter(({ status }) => status === 204)).toHaveLength(1);
		expect(await rowsOf(member)).toHaveLength(1);
	});

	test("an authenticator app beside passkeys takes a proof before it is begun", async () => {
		const user = await withPasskey();
		const path = "/api/users/@me/two_factor";
		const send = (action: string, body: object) =>
			call("POST", `${path}/${action}`, { key: user.key, body });
		expect(await send("begin", {})).toMatchObject(proofRequired);
		const { body } = await send("begin", await proof(user, user.authenticator));
		const [code = ""] = user.codes;
		expect(await send("confirm", { code })).toMatchObject(rejected("invalid_code", "code"));
		const used = await send("recovery_codes", { code: await codeOf(body.secret) });
		expect(used).toMatchObject(rejected("invalid_code", "code"));
		const confirmed = await send("confirm", { code: await codeOf(body.secret) });
		expect(confirmed).toMatchObject({ status: 200, body: { passkeys: 1 } });
		expect(confirmed.body.recovery_codes).toHaveLength(10);
	});
});

test("each change is an event and a mail, without secrets", async () => {
	const home = await world();
	const member = await join(home.id, 1);
	await verify(member);
	const authenticator = await newAuthenticator();
	const mails = outbox();
	const options = { env: mails.env, headers: { "cf-connecting-ip": "192.0.2.7" } };
	const registered = await register(member, authenticator, { name: "My phone" }, options);
	const { id, recovery_codes } = registered.body;
	const url = `${PATH}/${id}`;
	const renamed = { key: member.key, body: { name: "Old phone" }, ...options };
	expect((await call("PATCH", url, renamed)).status).toBe(200);
	await post(member, `/${id}/remove`, await proof(member, authenticator), options);
	const sent = mails.take();
	expect(sent.map(({ subject }) => subject)).toEqual([
		"A passkey was added to your Tenantry account",
		"A passkey of your Tenantry account was removed",
	]);
	for (const { text } of sent) expect(text).toContain("192.0.2.7");
	expect(sent[0]?.text).toContain('"My phone"');
	const { body } = await home.here("GET", "/activity_log?scope=Passkey");
	expect(body.results).toMatchObject([
		{ activity: "deleted", item_id: id, detail: { trigger: { second_factor: "passkey" } } },
		{ activity: "updated", item_id: id },
		{ activity: "created", item_id: id },
	]);
	const logged = JSON.stringify(await db.select().from(activityLog));
	for (const text of [...recovery_codes, authenticator.id]) expect(logged).not.toContain(text);
	expect(await keysOf(member)).toHaveLength(1);
});
