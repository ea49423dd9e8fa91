import { eq } from "drizzle-orm";
import { v7 } from "uuid";
import { expect } from "vitest";
import { domains, organizationId, organizations } from "../../../src/db/schema/organizations.ts";
import { users } from "../../../src/db/schema/people.ts";
import { personalApiKeys } from "../../../src/db/schema/personal_api_keys.ts";
import { signIns } from "../../../src/db/schema/sign_in.ts";
import { digest } from "../../../src/keys/keys.ts";
import { outbox } from "../../support/mail.ts";
import { codeOf } from "../../support/totp.ts";
import { call, db, person, type world } from "../../support/world.ts";

export type Home = Awaited<ReturnType<typeof world>>;

type Options = { env?: Partial<Env>; headers?: Record<string, string> };

/** Asks for a link, from an address of its own. */
export async function ask(email: unknown, { env = {}, headers }: Options = {}) {
	const mails = outbox();
	const response = await call("POST", "/api/sign_in", {
		body: { email },
		env: { ...mails.env, ...env },
		headers: { "cf-connecting-ip": v7(), ...headers },
	});
	return { ...response, mails: mails.take() };
}

export const tokenIn = (text = "") =>
	/\/console\/sign_in#token=([\w-]{43})\b/.exec(text)?.[1] ?? "";

/** The token of a new link. */
export async function linkFor({ email }: { email: string }) {
	const { mails } = await ask(email);
	expect(mails).toHaveLength(1);
	const token = tokenIn(mails[0]?.text);
	expect(token).not.toBe("");
	return token;
}

const send =
	(action: string) =>
	(body: { token: string; code?: string | undefined; passkey?: unknown }, options: Options = {}) =>
		call("POST", `/api/sign_in/${action}`, {
			body,
			...options,
			headers: { "cf-connecting-ip": v7(), ...options.headers },
		});

export const complete = send("complete");

/** The one cookie that a response sets. */
export function cookieOf({ headers }: { headers: Headers }) {
	const [cookie = "", ...others] = headers.getSetCookie();
	expect(others).toEqual([]);
	const [pair = "", ...attributes] = cookie.split("; ");
	const [name, value = ""] = pair.split("=");
	return { name, value, attributes };
}

/** Headers of a request by a page of the service, with this value in the cookie. */
export const ofPage = (value: string) => ({
	cookie: `__Host-tenantry=${value}`,
	"sec-fetch-site": "same-origin",
});

/** Signs in with a new link: the value of the session's cookie, and the row of its key. */
export async function signIn(user: { email: string }, options?: Options) {
	const response = await complete({ token: await linkFor(user) }, options);
	expect(response.status).toBe(200);
	const { value } = cookieOf(response);
	const [row] = await db
		.select()
		.from(personalApiKeys)
		.where(eq(personalApiKeys.hash, await digest(value)));
	if (!row) throw new Error("There is no session.");
	return { ...row, value };
}

/** Columns of the key of a session that was started by mail. */
export const SESSION = {
	label: "Console",
	session: { method: "mail", connection: null, address: null, user_agent: null },
};

export const setUp = send("two_factor");

/** A 400. */
export const rejected = (code: string, attr: string | null = null) => ({
	status: 400,
	body: { code, attr },
});

export const expired = rejected("expired", "token");

/** Marks the address of a user as its own. */
export const verify = ({ id }: { id: number }) =>
	db.update(users).set({ is_email_verified: true }).where(eq(users.id, id));

/** A user whose address was proved. */
export async function verified() {
	const user = await person();
	await verify(user);
	return user;
}

export const enforce = ({ id }: { id: string }, enforce_2fa = true) =>
	db.update(organizations).set({ enforce_2fa }).where(eq(organizations.uuid, id));

/** A user with a second factor. */
export async function withFactor() {
	const user = await verified();
	const path = "/api/users/@me/two_factor";
	const { body } = await call("POST", `${path}/begin`, { key: user.key });
	const secret: string = body.secret;
	const confirmed = await call("POST", `${path}/confirm`, {
		key: user.key,
		body: { code: await codeOf(secret, -1) },
	});
	expect(confirmed.status).toBe(200);
	const codes: string[] = confirmed.body.recovery_codes;
	return { ...user, secret, codes };
}

/**
 * A user with an address of a domain that no organization has verified, and how to enforce SSO for
 * it.
 */
export async function inDomain({ id: organization_id }: { id: string }) {
	const user = await verified();
	const domain = `${v7()}.example.com`;
	const email = `ada@${domain}`;
	await db.update(users).set({ email }).where(eq(users.id, user.id));
	const claim = {
		organization_id: organizationId(organization_id),
		domain,
		verification_challenge: v7(),
		sso_enforcement: "saml",
	};
	await db.insert(domains).values(claim);
	const enforceSso = () =>
		db
			.update(domains)
			.set({ verified_at: new Date().toISOString() })
			.where(eq(domains.domain, domain));
	return { ...user, email, domain, enforceSso };
}

export const keysOf = ({ id }: { id: number }) =>
	db.select().from(personalApiKeys).where(eq(personalApiKeys.user_id, id));

export const linksOf = ({ id }: { id: number }) =>
	db.select().from(signIns).where(eq(signIns.user_id, id));
