import { eq } from "drizzle-orm";
import { v7 } from "uuid";
import { describe, expect, test } from "vitest";
import { domains } from "../../../src/db/schema/organizations.ts";
import { members, users } from "../../../src/db/schema/people.ts";
import { identities } from "../../../src/db/schema/sign_in.ts";
import { complete, expired } from "../../sign_in/link/support.ts";
import { entriesOf, finish, identitiesOf, who, withDomain } from "../../sign_in/oidc/support.ts";
import { outbox } from "../../support/mail.ts";
import { eventually } from "../../support/time.ts";
import { call, db, join, keyFor, person, racing } from "../../support/world.ts";

/** A member with an address of the domain, who has signed in through its provider. */
async function linked(level = 1, columns: Parameters<typeof withDomain>[0] = {}) {
	const home = await withDomain(columns);
	const ada = await home.colleague();
	await add(home, ada, level);
	const old = who(home);
	await finish(home, old);
	const at = `/members/${ada.uuid}/identities`;
	return { home, ada, old, at, connection: old.connection };
}

type Home = Awaited<ReturnType<typeof withDomain>>;

const add = ({ organization_id }: Home, { id }: { id: number }, level = 1) =>
	db.insert(members).values({ organization_id, user_id: id, level });

const link = (user: { id: number; email: string }, connection: string) =>
	db.insert(identities).values({ connection, subject: v7(), user_id: user.id, email: user.email });

const signedIn = expect.objectContaining({ token: expect.any(String) });
const toAnother = expect.objectContaining({ problem: "linked_to_another" });

const tokenOf = (result: object) => ("token" in result ? String(result.token) : "");

const connectionsOf = async (user: { id: number }) =>
	(await identitiesOf(user)).map(({ connection }) => connection).sort();

const mailsTo = (mails: ReturnType<typeof outbox>, { email }: { email: string }) =>
	mails.sent.filter(({ to }) => to === email);

describe("an admin", () => {
	test("unlinks a member, who then signs in with another account at the provider", async () => {
		const { home, ada, at, connection } = await linked();
		const session = await keyFor(ada.id, {
			session: { method: "oidc", connection, address: null, user_agent: null },
		});
		expect(await finish(home, who(home))).toEqual(toAnother);
		const [failure] = await entriesOf(home);
		expect(JSON.stringify(failure?.detail)).toContain(`${at}/${connection}`);
		const { body } = await home.here("GET", at);
		expect(body.results).toMatchObject([{ id: connection, email: ada.email, method: "oidc" }]);
		const mails = outbox();
		const path = `/api/organizations/${home.id}${at}/${connection.toUpperCase()}/`;
		const response = await call("DELETE", path, { key: home.key, env: mails.env });
		expect(response.status).toBe(204);
		expect((await call("GET", "/api/users/@me", { key: session })).status).toBe(401);
		expect(await entriesOf(home)).toMatchObject([
			{
				scope: "Identity",
				activity: "deleted",
				user: { email: home.owner.email },
				detail: { name: ada.email },
			},
			{ scope: "SignIn" },
			{ scope: "Identity", activity: "created" },
		]);
		await eventually(async () =>
			expect(mailsTo(mails, ada)).toMatchObject([
				{
					subject: "A way to sign in to your Tenantry account was removed",
					text: expect.stringContaining('An admin of the organization "Acme" has unlinked'),
				},
			]),
		);
		expect((await home.here("DELETE", `${at}/${connection}`)).status).toBe(404);
		expect(await finish(home, who(home))).toEqual(signedIn);
	});

	test.each([
		["a member", 1, 1, 403],
		["an admin about an owner", 8, 15, 403],
		["an admin about an admin", 8, 8, 204],
		["an owner about an owner", 15, 15, 204],
	])("has a level that is high enough: %s", async (_, own, level, status) => {
		const { home, ada, at, connection } = await linked(level);
		const { key } = await join(home.id, own);
		const path = `/api/organizations/${home.id}${at}`;
		expect((await call("DELETE", `${path}/${connection}`, { key })).status).toBe(status);
		expect((await call("GET", path, { key })).status).toBe(own < 8 ? 403 : 200);
		expect(await identitiesOf(ada)).toHaveLength(status === 204 ? 0 : 1);
	});

	test("doesn't unlink somebody who becomes an owner meanwhile", async () => {
		const { home, ada, at, connection } = await linked();
		const { key } = await join(home.id, 8);
		const promote = () => db.update(members).set({ level: 15 }).where(eq(members.user_id, ada.id));
		const { status } = await call("DELETE", `/api/organizations/${home.id}${at}/${connection}`, {
			key,
			env: racing(promote),
		});
		expect(status).toBe(403);
		expect(await identitiesOf(ada)).toHaveLength(1);
	});

	test("sees and ends only what signs in through the organization's domains", async () => {
		const { home, ada, at, connection } = await linked();
		const elsewhere = await withDomain();
		await add(elsewhere, ada);
		const other = `saml:${elsewhere.domain_id}`;
		for (const each of [other, "google-oauth2"]) await link(ada, each);
		const listed = async ({ here }: Home) =>
			(await here("GET", at)).body.results.map(({ id }: { id: string }) => id);
		// The address is in the domain of the first organization.
		expect(await listed(home)).toEqual(["google-oauth2", connection]);
		expect(await listed(elsewhere)).toEqual([other]);
		for (const each of [connection, "google-oauth2"])
			expect((await elsewhere.here("DELETE", `${at}/${each}`)).status).toBe(404);
		expect((await home.here("DELETE", `${at}/google-oauth2`)).status).toBe(204);
		expect(await connectionsOf(ada)).toEqual([connection, other].sort());
		await home.set({ verified_at: null });
		await link(ada, "google-oauth2");
		expect(await listed(home)).toEqual([connection]);
	});

	test("unlinks people who are deactivated, or no longer members", async () => {
		const { home, ada, at, connection } = await linked();
		await db.update(users).set({ is_active: false }).where(eq(users.id, ada.id));
		expect((await home.here("DELETE", `${at}/${connection}`)).status).toBe(204);
		await link(ada, connection);
		await db.delete(members).where(eq(members.user_id, ada.id));
		expect((await home.here("GET", at)).body.count).toBe(1);
		expect((await home.here("DELETE", `${at}/${connection}`)).status).toBe(204);
		// Now, they have nothing to do with the organization.
		expect((await home.here("GET", at)).status).toBe(404);
	});

	test("doesn't find strangers and their links", async () => {
		const home = await withDomain();
		const [stranger, other] = [await person(), await withDomain()];
		await link(stranger, `oidc:${other.domain_id}`);
		await link(stranger, "github");
		const at = `/members/${stranger.uuid}/identities`;
		expect((await home.here("GET", at)).status).toBe(404);
		for (const id of [`oidc:${other.domain_id}`, "github"])
			expect((await home.here("DELETE", `${at}/${id}`)).status).toBe(404);
		expect(await identitiesOf(stranger)).toHaveLength(2);
	});
});

test("a sign-in that an unlinked account has begun can't be completed, also after another is linked", async () => {
	const { home, old, at, connection } = await linked();
	const begun = tokenOf(await finish(home, old));
	await home.here("DELETE", `${at}/${connection}`);
	const next = await finish(home, who(home));
	expect(await complete({ token: begun })).toMatchObject(expired);
	expect(await complete({ token: tokenOf(next) })).toMatchObject({ status: 200 });
});

describe("removing a member", () => {
	test("ends the links through all domains of the organization, and no others", async () => {
		const { home, ada, connection } = await linked();
		const [second, elsewhere] = [v7(), await withDomain()];
		await db.insert(domains).values({
			id: second,
			organization_id: home.organization_id,
			domain: `${second}.example.com`,
			verification_challenge: v7(),
		});
		await link(ada, `saml:${second}`);
		await link(ada, `saml:${elsewhere.domain_id}`);
		const mails = outbox();
		const path = `/api/organizations/${home.id}/members/${ada.uuid}`;
		expect((await call("DELETE", path, { key: home.key, env: mails.env })).status).toBe(204);
		expect(await connectionsOf(ada)).toEqual([`saml:${elsewhere.domain_id}`]);
		const deleted = (await entriesOf(home)).filter(({ activity }) => activity === "deleted");
		expect(deleted.map(({ scope }) => scope).sort()).toEqual(["Identity", "Identity", "Member"]);
		await eventually(async () => expect(mailsTo(mails, ada)).toHaveLength(2));
		expect(connection).not.toBe(`saml:${second}`);
		expect(await finish(home, who(home))).toEqual(signedIn);
	});

	test("ends a link that is made meanwhile", async () => {
		const home = await withDomain();
		const ada = await home.colleague();
		await add(home, ada);
		const path = `/api/organizations/${home.id}/members/${ada.uuid}`;
		const env = racing(() => finish(home, who(home)));
		expect((await call("DELETE", path, { key: home.key, env })).status).toBe(204);
		expect(await identitiesOf(ada)).toEqual([]);
	});

	test("leaves the links of somebody who leaves, for admins to end", async () => {
		const { home, ada, at, connection } = await linked();
		const key = await keyFor(ada.id);
		const left = await call("DELETE", `/api/organizations/${home.id}/members/@me`, { key });
		expect(left.status).toBe(204);
		expect(await identitiesOf(ada)).toHaveLength(1);
		expect((await home.here("DELETE", `${at}/${connection}`)).status).toBe(204);
	});

	test("leaves the links if the member is an owner, who can't be removed", async () => {
		const { home, ada } = await linked(15);
		expect((await home.here("DELETE", `/members/${ada.uuid}`)).status).toBe(400);
		expect(await identitiesOf(ada)).toHaveLength(1);
	});
});
