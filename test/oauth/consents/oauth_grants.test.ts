import { eq } from "drizzle-orm";
import { v7 } from "uuid";
import { describe, expect, test } from "vitest";
import { oauthRefreshTokens } from "../../../src/db/schema/oauth.ts";
import { members, users } from "../../../src/db/schema/people.ts";
import { outbox } from "../../support/mail.ts";
import { call, db, insertGrant, join, racing, world } from "../../support/world.ts";
import { API, fails, granted, newApp, refresh, statusWith } from "../support.ts";

const MINE = "/api/users/@me/oauth_grants";

type Person = { key: string };

const listed = async ({ key }: Person, path = MINE) => (await call("GET", path, { key })).body;

const idOf = async (person: Person) => (await listed(person)).results[0]?.id;

const end = async ({ key }: Person, path: string, more = {}) =>
	(await call("DELETE", path, { key, ...more })).status;

const addTo = (home: { organization_id: number }, user_id: number, level: number) =>
	db.insert(members).values({ organization_id: home.organization_id, user_id, level });

const at = (organization: { id: string }) => `/api/organizations/${organization.id}/oauth_grants`;

describe("the apps of a person", () => {
	test("are listed with what they may do, newest first, without those that have ended", async () => {
		const home = await world();
		const client_id = newApp();
		await granted(home);
		const { access } = await granted(home, {
			client_id,
			fields: { scope: "project:write", resource: API },
			choice: {
				scopes: ["project:read"],
				scoped_organizations: [home.id],
				scoped_projects: [home.project],
				ends_at: "2999-01-01",
			},
		});
		const ended = v7();
		await db.batch([...insertGrant(home.owner.id, ended)]);
		await db
			.update(oauthRefreshTokens)
			.set({ expires_at: "2026-01-01T00:00:00.000Z" })
			.where(eq(oauthRefreshTokens.key_id, ended));
		expect(await statusWith(access)).toBe(200);
		const { count, results } = await listed(home);
		expect(count).toBe(2);
		expect(results[0]).toEqual({
			id: expect.any(String),
			client_id,
			client_name: "Notes",
			client_host: new URL(client_id).host,
			audience: "api",
			scopes: ["project:read"],
			scoped_organizations: [home.id],
			scoped_projects: [home.project],
			created_at: expect.any(String),
			last_used_at: expect.any(String),
			ends_at: "2999-01-01T00:00:00.000Z",
		});
		expect(results[1]).toMatchObject({ ends_at: null, last_used_at: null });
	});

	test("end with the next request, and leave an event", async () => {
		const home = await world();
		const other = await granted(home);
		const { access, refresh: token, client_id } = await granted(home);
		const id = await idOf(home);
		expect(await statusWith(access)).toBe(200);
		expect(await end(home, `${MINE}/${id}`)).toBe(204);
		expect(await statusWith(access)).toBe(401);
		await expect(refresh(client_id, token)).rejects.toMatchObject(fails("invalid_grant"));
		expect(await end(home, `${MINE}/${id}`)).toBe(404);
		expect(await statusWith(other.access)).toBe(200);
		const { body } = await home.here("GET", "/events?types=oauth_grant.revoked");
		expect(body.results).toMatchObject([
			{ actor: { email: home.owner.email }, data: { name: "Notes", trigger: { job: "person" } } },
		]);
	});

	test("are neither API keys nor sessions, and only their person's", async () => {
		const home = await world();
		const stranger = await world();
		const { access } = await granted(home);
		const id = await idOf(home);
		const key = (await home.ask("GET", "/api/personal_api_keys")).body.results[0];
		expect(await end(stranger, `${MINE}/${id}`)).toBe(404);
		expect(await end(stranger, `/api/users/${home.owner.uuid}/oauth_grants/${id}`)).toBe(404);
		expect((await listed(stranger, `/api/users/${home.owner.uuid}/oauth_grants`)).code).toBe(
			"not_found",
		);
		expect(await end(home, `${MINE}/${key.id}`)).toBe(404);
		expect(await end(home, `/api/users/@me/sessions/${id}`)).toBe(404);
		expect(await statusWith(access)).toBe(200);
	});
});

describe("the apps of an organization", () => {
	test("are those of its members that reach it, with the person; only admins see them", async () => {
		const [home, other] = [await world(), await world()];
		const member = await join(home.id, 1);
		await join(other.id, 1);
		const admin = await join(home.id, 8);
		const left = await join(other.id, 1);
		const inactive = await join(home.id, 1);
		await db.update(users).set({ is_active: false }).where(eq(users.id, inactive.id));
		const expected: string[] = [];
		for (const [user_id, key, isListed] of [
			[member.id, {}, true],
			[member.id, { scoped_organizations: [other.id, home.id] }, true],
			[member.id, { scoped_projects: [home.project] }, true],
			[member.id, { scoped_organizations: [other.id] }, false],
			[member.id, { scoped_projects: [other.project] }, false],
			[member.id, { client_id: null }, false],
			[left.id, { scoped_organizations: [home.id] }, false],
			[inactive.id, {}, false],
		] as const) {
			const id = v7();
			await db.batch([...insertGrant(user_id, id, key)]);
			if (isListed) expected.unshift(id);
			else expect(await end(admin, `${at(home)}/${id}`)).toBe(404);
		}
		const { count, results } = await listed(admin, at(home));
		expect(results.map(({ id }: { id: string }) => id)).toEqual(expected);
		expect(count).toBe(expected.length);
		expect(results[0]).toMatchObject({
			client_name: "Notes",
			client_host: "notes.example",
			user: { uuid: member.uuid, email: member.email },
		});
		expect(results[0]).not.toHaveProperty("scoped_organizations");
		expect((await call("GET", at(home), { key: member.key })).status).toBe(403);
		expect(await end(member, `${at(home)}/${expected[0]}`)).toBe(403);
		expect(await listed(member)).toMatchObject({ count: 5 });
	});

	test("are ended by an admin: the person gets a mail, and the event names all of them", async () => {
		const [home, other] = [await world(), await world()];
		const member = await join(home.id, 1);
		await join(other.id, 1);
		await db.update(users).set({ is_email_verified: true }).where(eq(users.id, member.id));
		const admin = await join(home.id, 8);
		const { access, client_id } = await granted(member);
		const id = await idOf(member);
		expect(await statusWith(access)).toBe(200);
		const mails = outbox();
		expect(await end(admin, `${at(home)}/${id}`, { env: mails.env })).toBe(204);
		expect(await statusWith(access)).toBe(401);
		expect(await end(admin, `${at(home)}/${id}`)).toBe(404);
		const [mail] = mails.take();
		expect(mail?.to).toBe(member.email);
		expect(mail?.text).toContain(
			'An admin of the organization "Acme" has ended the access of the app "Notes".',
		);
		const { body } = await home.here("GET", "/events?types=oauth_grant.revoked");
		expect(body.results).toMatchObject([
			{
				actor: { email: admin.email },
				data: { name: "Notes", trigger: { client_id, job: "admin", user: member.email } },
			},
		]);
	});

	test("that also reach another one are ended by an admin of both, and leave an event in both", async () => {
		const [home, other] = [await world(), await world()];
		const member = await join(home.id, 1);
		await addTo(other, member.id, 1);
		const id = v7();
		const scoped_organizations = [home.id, other.id];
		await db.batch([...insertGrant(member.id, id, { scoped_organizations })]);
		const admin = await join(home.id, 8);
		expect(await end(admin, `${at(home)}/${id}`)).toBe(403);
		await addTo(other, admin.id, 8);
		expect(await end(admin, `${at(home)}/${id}`)).toBe(204);
		for (const organization of [home, other]) {
			const { body } = await organization.here("GET", "/events?types=oauth_grant.revoked");
			expect(body.results).toMatchObject([
				{
					actor: { email: admin.email },
					data: { name: "Notes", trigger: { job: "admin", user: member.email } },
				},
			]);
		}
	});

	test("aren't ended by somebody whose level is below their person's, or isn't above it any more", async () => {
		const home = await world();
		const admin = await join(home.id, 8);
		const [ofOwner, ofAdmin] = [v7(), v7()];
		const equal = await join(home.id, 8);
		await db.batch([...insertGrant(home.owner.id, ofOwner), ...insertGrant(equal.id, ofAdmin)]);
		expect(await end(admin, `${at(home)}/${ofOwner}`)).toBe(403);
		const raced = racing(() =>
			db.update(members).set({ level: 15 }).where(eq(members.user_id, equal.id)),
		);
		expect(await end(admin, `${at(home)}/${ofAdmin}`, { env: raced })).toBe(403);
		expect(await end(home, `${at(home)}/${ofAdmin}`)).toBe(204);
	});
});
