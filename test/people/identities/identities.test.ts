import { v7 } from "uuid";
import { expect, test } from "vitest";
import { identities } from "../../../src/db/schema/sign_in.ts";
import { entriesOf, identitiesOf, userWith, withDomain } from "../../sign_in/oidc/support.ts";
import { outbox } from "../../support/mail.ts";
import { eventually } from "../../support/time.ts";
import { call, db, keyFor, person } from "../../support/world.ts";

const PATH = "/api/users/@me/identities";

/** A member with two identities. */
async function linked() {
	const home = await withDomain();
	const { owner, domain_id } = home;
	const connection = `oidc:${domain_id}`;
	const { id: user_id, email } = owner;
	await db.insert(identities).values([
		{ connection, subject: v7(), user_id, email },
		{ connection: "github", subject: v7(), user_id, email },
	]);
	return { home, owner, connection };
}

const session = (connection: string | null) => ({
	is_session: true,
	session: { method: "oidc", connection, address: null, user_agent: null },
});

test("a user sees their accounts at providers, and nobody else's", async () => {
	const { home, owner, connection } = await linked();
	const { body } = await home.ask("GET", PATH);
	expect(body.results).toMatchObject([
		{ id: "github", method: "github", organization_name: null, email: owner.email },
		{ id: connection, method: "oidc", organization_name: "Acme", last_used_at: null },
	]);
	const stranger = await person();
	expect((await call("GET", PATH, { key: stranger.key })).body.results).toEqual([]);
	const theirs = `/api/users/${owner.uuid}/identities`;
	expect((await call("GET", theirs, { key: stranger.key })).status).toBe(404);
	expect((await call("DELETE", `${theirs}/github`, { key: stranger.key })).status).toBe(404);
	expect(await identitiesOf(owner)).toHaveLength(2);
});

test("removing one ends the sessions that came through it, and no others", async () => {
	const { home, owner, connection } = await linked();
	const [through, other] = [
		await keyFor(owner.id, session(connection)),
		await keyFor(owner.id, session("github")),
	];
	const statusOf = async (key: string) => (await call("GET", "/api/users/@me", { key })).status;
	expect([await statusOf(through), await statusOf(other)]).toEqual([200, 200]);
	expect((await home.ask("DELETE", `${PATH}/${connection}`)).status).toBe(204);
	expect([await statusOf(through), await statusOf(other)]).toEqual([401, 200]);
	expect(await identitiesOf(owner)).toMatchObject([{ connection: "github" }]);
	expect((await home.ask("DELETE", `${PATH}/${connection}`)).status).toBe(404);
	expect((await userWith(owner.email))?.has_social_auth).toBe(true);
	const log = await entriesOf(home);
	expect(log).toMatchObject([{ scope: "Identity", activity: "deleted" }]);
	await home.ask("DELETE", `${PATH}/github`);
	expect((await userWith(owner.email))?.has_social_auth).toBe(false);
});

test("the user gets a mail when one is removed", async () => {
	const { home, owner } = await linked();
	await db.run(`update users set is_email_verified = true where id = ${owner.id}`);
	const mails = outbox();
	await call("DELETE", `${PATH}/github`, { key: home.key, env: mails.env });
	const sent = await eventually(async () => {
		const [mail] = mails.sent;
		expect(mail).toBeDefined();
		return mail;
	});
	expect(sent).toMatchObject({
		to: owner.email,
		subject: "A way to sign in to your Tenantry account was removed",
	});
	expect(await identitiesOf(owner)).toHaveLength(1);
});
