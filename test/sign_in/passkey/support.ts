import { and, eq } from "drizzle-orm";
import { expect } from "vitest";
import { users } from "../../../src/db/schema/people.ts";
import { passkeys, twoFactors } from "../../../src/db/schema/sign_in.ts";
import { type Authenticator, newAuthenticator } from "../../support/authenticator.ts";
import { call, db } from "../../support/world.ts";
import { verified, withFactor } from "../link/support.ts";

export const PATH = "/api/users/@me/passkeys";

type User = { key: string; id: number };

type Options = Parameters<typeof call>[2];

export const post = (
	{ key }: Pick<User, "key">,
	path: string,
	body?: unknown,
	options: Options = {},
) => call("POST", `${PATH}${path}`, { key, ...(body !== undefined && { body }), ...options });

export const begin = async (user: Pick<User, "key">) => {
	const { status, body } = await post(user, "/begin");
	expect(status).toBe(200);
	return body;
};

/** Registers a passkey of the authenticator. */
export async function register(
	user: Pick<User, "key">,
	authenticator: Authenticator,
	{ name = "Laptop", ...given }: { name?: string; code?: string; passkey?: unknown } = {},
	options: Options = {},
) {
	const credential = await authenticator.register(await begin(user));
	return post(user, "", { name, credential, ...given }, options);
}

/** A use of the authenticator's passkey as a proof for changes of the account. */
export async function proof(
	user: Pick<User, "key">,
	authenticator: Authenticator,
	options?: Parameters<Authenticator["use"]>[1],
) {
	const { status, body } = await post(user, "/challenge");
	expect(status).toBe(200);
	return { passkey: await authenticator.use(body, options) };
}

/** A user whose only factor is a passkey. */
export async function withPasskey({ count = 0 } = {}) {
	const user = await verified();
	const authenticator = await newAuthenticator({ count });
	const { status, body } = await register(user, authenticator);
	expect(status).toBe(201);
	const codes: string[] = body.recovery_codes;
	return { ...user, authenticator, codes, passkey: String(body.id) };
}

/** A user with an authenticator app and a passkey. */
export async function withBoth() {
	const user = await withFactor();
	const authenticator = await newAuthenticator();
	const [code = "", ...codes] = user.codes;
	const { status, body } = await register(user, authenticator, { code });
	expect(status).toBe(201);
	return { ...user, codes, authenticator, passkey: String(body.id) };
}

export const rowsOf = ({ id }: { id: number }) =>
	db.select().from(passkeys).where(eq(passkeys.user_id, id));

export const factorOf = async ({ id }: { id: number }) => {
	const [row] = await db
		.select({
			is_2fa_enabled: users.is_2fa_enabled,
			secret: twoFactors.secret,
			attempts: twoFactors.attempts,
		})
		.from(users)
		.leftJoin(twoFactors, and(eq(twoFactors.user_id, users.id)))
		.where(eq(users.id, id));
	return row;
};

export const invalidPasskey = (attr: string) => ({
	status: 400,
	body: { code: "invalid_passkey", attr },
});
