import { eq } from "drizzle-orm";
import { v7 } from "uuid";
import { expect } from "vitest";
import { domains } from "../../../src/db/schema/organizations.ts";
import { users } from "../../../src/db/schema/people.ts";
import { identities, signInStates } from "../../../src/db/schema/sign_in.ts";
import { digest, newToken } from "../../../src/keys/keys.ts";
import { call, db, person, world } from "../../support/world.ts";
import { verify } from "../link/support.ts";

type Domain = Partial<typeof domains.$inferInsert>;

/** A tenant with a verified domain. */
export async function withDomain(columns: Domain = {}) {
	const home = await world();
	const id = v7();
	const domain = `${v7()}.example.com`;
	await db.insert(domains).values({
		id,
		organization_id: home.organization_id,
		domain,
		verified_at: new Date().toISOString(),
		verification_challenge: v7(),
		...columns,
	});
	/** Changes the domain without the API. */
	const set = (changes: Domain) => db.update(domains).set(changes).where(eq(domains.id, id));
	/** A user with a proved address in the domain, who isn't a member. */
	async function colleague(name = "ada") {
		const user = await person();
		const email = `${name}@${domain}`;
		await db.update(users).set({ email }).where(eq(users.id, user.id));
		await verify(user);
		return { ...user, email };
	}
	return { ...home, domain_id: id, domain, set, colleague };
}

export type WithDomain = Awaited<ReturnType<typeof withDomain>>;

export const userWith = async (email: string) =>
	(await db.select().from(users).where(eq(users.email, email)))[0];

export const identitiesOf = (user: { id: number } | undefined) =>
	db
		.select()
		.from(identities)
		.where(eq(identities.user_id, user?.id ?? 0));

/** The entries of the organization's log about single sign-on, newest first. */
export async function entriesOf({ here }: WithDomain) {
	const { body } = await here("GET", "/activity_log");
	const found: {
		scope: string;
		activity: string;
		user: { email: string } | null;
		detail: object;
	}[] = body.results;
	return found.filter(({ scope }) => ["SignIn", "Identity", "User", "Member"].includes(scope));
}

/** The problem, or the token of the link, to which a response leads. */
export function outcomeOf({ status, headers }: { status: number; headers: Headers }) {
	expect(status).toBe(303);
	const location = headers.get("location") ?? "";
	const [, name = "", value = ""] =
		/^\/console\/sign_in#(token|problem)=([\w-]+)$/.exec(location) ?? [];
	expect(name, location).not.toBe("");
	return { [name]: value };
}

/** Who a provider has verified. */
export const who = (
	home: Pick<WithDomain, "domain_id" | "domain">,
	more: Record<string, unknown> = {},
) => ({
	connection: `oidc:${home.domain_id}`,
	domain_id: home.domain_id,
	subject: v7(),
	email: `ada@${home.domain}`,
	is_email_verified: true,
	first_name: "Ada",
	last_name: "Lovelace",
	has_factor: false,
	claims: {},
	...more,
});

/** Ends a sign-in of this person, whose provider has sent a response with a POST. */
export async function finish(
	home: Pick<WithDomain, "organization_id">,
	person: ReturnType<typeof who>,
	{
		cookie,
		env = {},
		address = v7(),
	}: { cookie?: string; env?: Partial<Env>; address?: string } = {},
) {
	const token = newToken();
	const { connection, domain_id } = person;
	const organization_id = domain_id === null ? null : home.organization_id;
	const started = { connection, domain_id, organization_id };
	await db.insert(signInStates).values({
		hash: await digest(token),
		kind: "finish",
		data: { who: person, started },
		expires_at: "9999-12-31T23:59:59.999Z",
	});
	const send = () =>
		call("GET", `/sso/finish?token=${token}`, {
			headers: {
				cookie: `__Host-tenantry-sign-in-${token.slice(0, 8)}=${cookie ?? token}`,
				"cf-connecting-ip": address,
			},
			env,
		});
	return { ...outcomeOf(await send()), again: async () => outcomeOf(await send()) };
}
