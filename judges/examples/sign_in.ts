/** The examples of signing in and of the second factor. */
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { TOTP } from "otpauth";
import * as z from "zod";
import { newAuthenticator } from "../../test/support/authenticator.ts";
import { RECEIPT, type Recorder } from "./recorder.ts";

/** Strings in the examples that differ from run to run, and their replacements. */
type Replacements = [from: string, to: string][];

const SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP";

/** A code of an app with this secret. */
const CODE = "287082";

/** Returns the replacements for a second factor and its recovery codes. */
const replace = (secret: string, codes: string[] | null | undefined): Replacements => [
	[secret, SECRET],
	...(codes ?? []).map((code, i): [string, string] => [code, `k7m2q-x9d${i}t`]),
];

const secretOf = ({ secret }: { secret?: string | null | undefined }) => secret ?? "";

/**
 * Records the second factor of the caller, with which that of a member is reset. At the end, it is
 * disabled.
 */
export async function twoFactor(
	{ record, refuse }: Recorder,
	user__uuid: string,
): Promise<Replacements> {
	const parameters = { uuid: "@me" };
	const secret = secretOf(await record("beginTwoFactor", { parameters }));
	const code = new TOTP({ secret }).generate();
	await refuse("confirmTwoFactor", 400, { parameters, body: { code: "lost" } });
	const confirmed = await record("confirmTwoFactor", { parameters, body: { code } });
	await record("getTwoFactor", { parameters });
	const [first = "", second = ""] = confirmed.recovery_codes ?? [];
	await refuse("replaceTwoFactorCodes", 400, { parameters, body: { code: "lost" } });
	const replaced = await record("replaceTwoFactorCodes", { parameters, body: { code: first } });
	await refuse("disableTwoFactor", 400, { parameters, body: { code: second } });
	const [third = "", fourth = ""] = replaced.recovery_codes ?? [];
	await record("resetMemberTwoFactor", { parameters: { user__uuid }, body: { code: third } });
	await record("disableTwoFactor", { parameters, body: { code: fourth } });
	return [
		[code, CODE],
		...replace(secret, confirmed.recovery_codes),
		...replace(secret, replaced.recovery_codes),
	];
}

/** Returns the token of the link in a mail that the server has written below `folder`. */
async function tokenIn(folder: string) {
	for (let waited = 0; waited < 60_000; waited += 200) {
		const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
		for (const name of names.filter((name) => name.endsWith(".txt"))) {
			const mail = readFileSync(`${folder}/${name}`, "utf8");
			const [, token] = /sign_in#token=([\w-]{43})/.exec(mail) ?? [];
			if (token) return token;
		}
		await sleep(200);
	}
	throw new Error(`No mail below ${folder} has a link.`);
}

const BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";

/** Records the sessions of the user whose session is in a cookie. At the end, there is none. */
async function sessions(record: Recorder["record"], cookie: string) {
	const headers = { cookie, "sec-fetch-site": "same-origin" };
	const parameters = { uuid: "@me" };
	const { results = [] } = await record("listSessions", { parameters, headers, key: null });
	await record("endOtherSessions", { parameters, headers, key: null });
	const one = { ...parameters, id: String(results[0]?.id) };
	await record("endSession", { parameters: one, headers: { ...headers, ...RECEIPT }, key: null });
}

/**
 * Records how a user signs in and sets up a second factor.
 * @param folder the folder to which the server writes mails
 */
export async function signIn(
	{ record, refuse }: Recorder,
	email: string,
	folder: string,
): Promise<Replacements> {
	const parameters = { id: "@current" };
	await record("updateOrganization", { parameters, body: { enforce_2fa: true } });
	await record("requestSignIn", { body: { email }, key: null });
	await refuse("requestSignIn", 400, { body: { email: "analyst" }, key: null });
	const token = await tokenIn(folder);
	await record("previewSignIn", { body: { token }, key: null });
	await refuse("completeSignIn", 400, { body: { token }, key: null });
	await refuse("beginSignInTwoFactor", 400, { body: { token: "unknown" }, key: null });
	const secret = secretOf(await record("beginSignInTwoFactor", { body: { token }, key: null }));
	const code = new TOTP({ secret }).generate();
	const { recovery_codes, cookie = "" } = await record("completeSignIn", {
		body: { token, code },
		headers: { "user-agent": BROWSER },
		key: null,
	});
	await sessions(record, cookie);
	await record("updateOrganization", { parameters, body: { enforce_2fa: null } });
	return [[code, CODE], ...replace(secret, recovery_codes)];
}

const Creation = z.object({ challenge: z.string(), user: z.object({ id: z.string() }) });

const Challenge = z.object({ challenge: z.string() });

/**
 * Records the passkeys of the caller. At the end, the caller has none.
 * @param origin the service's URL, to which passkeys are bound
 */
export async function passkeys(
	{ record, refuse }: Recorder,
	origin: string,
): Promise<Replacements> {
	const site = { origin, rp_id: new URL(origin).hostname };
	const parameters = { uuid: "@me" };
	const authenticator = await newAuthenticator();
	const options = Creation.parse(await record("beginPasskey", { parameters }));
	const credential = await authenticator.register(options, site);
	const body = { name: "Laptop", credential };
	await refuse("createPasskey", 400, { parameters, body: { ...body, name: "" } });
	const { id, recovery_codes } = await record("createPasskey", { parameters, body });
	const [code = ""] = recovery_codes ?? [];
	const secret = secretOf(await record("beginTwoFactor", { parameters, body: { code } }));
	const one = { ...parameters, id: String(id) };
	await record("listPasskeys", { parameters });
	await record("getPasskey", { parameters: one });
	await record("updatePasskey", { parameters: one, body: { name: "Old laptop" } });
	const toSignIn = Challenge.parse(await record("beginSignInPasskey", { body: {}, key: null }));
	const proof = await authenticator.use(toSignIn, site);
	await record("enterSignIn", { body: { passkey: proof }, key: null });
	const toRemove = Challenge.parse(await record("challengePasskey", { parameters }));
	const passkey = await authenticator.use(toRemove, site);
	await record("removePasskey", { parameters: one, body: { passkey } });
	return replace(secret, recovery_codes);
}
