import { and, eq, sql } from "drizzle-orm";
import { v7 } from "uuid";
import { describe, expect, test } from "vitest";
import { activityLog } from "../../../src/db/schema/activity_log.ts";
import { oauthClients, oauthCodes } from "../../../src/db/schema/oauth.ts";
import { organizationId } from "../../../src/db/schema/organizations.ts";
import { members } from "../../../src/db/schema/people.ts";
import { personalApiKeys } from "../../../src/db/schema/personal_api_keys.ts";
import { forbidden } from "../../support/errors.ts";
import { call, cost, db, join, racing, world } from "../../support/world.ts";
import {
	approve,
	CALLBACK,
	codeFor,
	exchange,
	fails,
	granted,
	preview,
	refresh,
	request,
	statusWith,
} from "../support.ts";

const OTHER = "https://notes.example/other";
const NO_APP = { status: 400, body: { code: "invalid_input", attr: "client_id" } };

/** An organization with a registered app, and a member of it. */
async function registered(fields: object = {}) {
	const home = await world("Notes Ltd");
	const body = { name: "Notes", redirect_uris: [CALLBACK], ...fields };
	const made = await home.here("POST", "/oauth_clients", { body });
	expect(made.status).toBe(201);
	const path = `/oauth_clients/${made.body.id}`;
	return { ...home, client: made.body, path, member: await join(home.id, 1) };
}

/** The reasons for which grants of the organization ended. */
const endings = async (id: string) =>
	(
		await db
			.select({ trigger: activityLog.trigger })
			.from(activityLog)
			.where(
				sql`${activityLog.organization_id} = ${organizationId(id)} and ${activityLog.scope} = 'OauthGrant' and ${activityLog.activity} = 'revoked'`,
			)
	).map(({ trigger }) => trigger);

describe("registering an app", () => {
	test("is for admins, who list, read, change and delete the organization's apps", async () => {
		const { id, client, path, here } = await registered();
		expect(client).toMatchObject({ name: "Notes", redirect_uris: [CALLBACK] });
		expect((await here("GET", path)).body).toEqual(client);
		expect((await here("GET", "/oauth_clients")).body).toMatchObject({
			count: 1,
			results: [client],
		});
		const body = { name: "Team notes", redirect_uris: [CALLBACK, OTHER] };
		const changed = await here("PATCH", path, { body });
		expect(changed.body).toEqual({ ...client, ...body });
		const events = await here("GET", "/events?types=oauth_client.*");
		expect(events.body.results.map(({ type }: { type: string }) => type).toSorted()).toEqual([
			"oauth_client.created",
			"oauth_client.updated",
		]);
		expect((await here("DELETE", path)).status).toBe(204);
		expect((await here("GET", path)).status).toBe(404);
		expect((await here("GET", "/oauth_clients")).body.count).toBe(0);
		const admin = await join(id, 8);
		const made = await call("POST", `/api/organizations/${id}/oauth_clients`, {
			key: admin.key,
			body,
		});
		expect([made.status, cost(made).trips]).toEqual([201, 2]);
	});

	test("isn't for members, and an app of another organization is not found", async () => {
		const { here, client, path, member } = await registered();
		const stranger = await world();
		for (const [method, at, body] of [
			["GET", "/oauth_clients"],
			["POST", "/oauth_clients", { name: "Mine", redirect_uris: [CALLBACK] }],
			["GET", path],
			["PATCH", path, { name: "Mine" }],
			["DELETE", path],
		] as const) {
			const mine = await here(method, at, { key: member.key, body });
			expect(mine).toMatchObject(forbidden("Your organization access level is insufficient."));
			if (at === path) expect((await stranger.here(method, at, { body })).status).toBe(404);
		}
		const [row] = await db.select().from(oauthClients).where(eq(oauthClients.id, client.id));
		expect(row?.name).toBe("Notes");
	});

	test("rejects redirect URIs at which no app may continue", async () => {
		const { here, path } = await registered();
		const rejection = { status: 400, body: { attr: "redirect_uris__1" } };
		for (const uri of [
			"javascript:alert(1)",
			`${CALLBACK}\u202e`,
			CALLBACK + "x".repeat(2_000),
			"",
		]) {
			const redirect_uris = [CALLBACK, uri];
			const body = { name: "Notes", redirect_uris };
			expect(await here("POST", "/oauth_clients", { body })).toMatchObject(rejection);
			expect(await here("PATCH", path, { body: { redirect_uris } })).toMatchObject(rejection);
		}
	});

	test.each([
		["no redirect URI", { redirect_uris: [] }, "redirect_uris"],
		[
			"too many redirect URIs",
			{ redirect_uris: Array.from({ length: 51 }, (_, i) => `${CALLBACK}/${i}`) },
			"redirect_uris",
		],
		["a name that is too long", { name: "ä".repeat(41) }, "name"],
		["a name that hides text", { name: "Notes\u202e" }, "name"],
		["a name that nobody sees", { name: "\u200b" }, "name"],
	])("rejects %s", async (_, fields, attr) => {
		const { here } = await world();
		const body = { name: "Notes", redirect_uris: [CALLBACK], ...fields };
		const sent = await here("POST", "/oauth_clients", { body });
		expect(sent).toMatchObject({ status: 400, body: { attr } });
	});

	test("leaves names that look like markup, or aren't Latin, as they are", async () => {
		for (const name of ["<b>Notes</b>&amp;", "备忘录 заметки", "ä".repeat(40)]) {
			const { client, member } = await registered({ name });
			const { parameters } = await request(client.id);
			expect((await preview(member, parameters)).body.client_name).toBe(name);
		}
	});
});

describe("a registered app", () => {
	test("gets what a member allows, who sees which organization registered it", async () => {
		const { client, member } = await registered();
		const { parameters } = await request(client.id, { scope: "project:read" });
		const seen = await preview(member, parameters);
		expect(seen.body).toMatchObject({
			client_id: client.id,
			client_name: "Notes",
			client_host: null,
			client_organization: "Notes Ltd",
			redirect_host: "notes.example",
		});
		expect(cost(seen)).toMatchObject({ trips: 1, written: 0 });
		const allowed = await approve(member, parameters);
		expect([allowed.status, cost(allowed).trips]).toEqual([200, 2]);
		const { access, refresh: token } = await granted(member, { client_id: client.id });
		expect(await statusWith(access)).toBe(200);
		const next = await refresh(client.id, token);
		expect(await statusWith(next.access_token)).toBe(200);
	});

	test("isn't found by others, nor under another form of its id", async () => {
		const { id, client, member } = await registered();
		const stranger = await world();
		const { parameters } = await request(client.id);
		expect(await preview(stranger, parameters)).toMatchObject(NO_APP);
		expect(await approve(stranger, parameters)).toMatchObject(NO_APP);
		const loud = await request(client.id.toUpperCase());
		expect(await preview(member, loud.parameters)).toMatchObject(NO_APP);
		const unknown = await request(v7());
		expect(await preview(member, unknown.parameters)).toMatchObject(NO_APP);
		await db.delete(members).where(eq(members.user_id, member.id));
		expect(await preview(member, parameters)).toMatchObject(NO_APP);
		expect(id).not.toBe(stranger.id);
	});

	test("continues only at its own addresses, from the next request after a change", async () => {
		const { client, path, here, member } = await registered({ redirect_uris: [CALLBACK, OTHER] });
		const asked = await request(client.id, { redirect_uri: OTHER });
		const code = await codeFor(member, asked);
		await here("PATCH", path, { body: { redirect_uris: [CALLBACK] } });
		await expect(exchange(code, asked)).rejects.toMatchObject(fails("invalid_grant"));
		const rejected = { status: 400, body: { attr: "redirect_uri" } };
		expect(await preview(member, asked.parameters)).toMatchObject(rejected);
		expect(await approve(member, asked.parameters)).toMatchObject(rejected);
		await granted(member, { client_id: client.id });
	});

	test("a change that keeps its addresses leaves its codes", async () => {
		const { client, path, here, member } = await registered();
		const asked = await request(client.id);
		const code = await codeFor(member, asked);
		await here("PATCH", path, { body: { name: "New", redirect_uris: [OTHER, CALLBACK] } });
		expect(await exchange(code, asked)).toHaveProperty("access_token");
	});

	test("gets nothing if its address is removed, or it is deleted, while a member allows it", async () => {
		for (const change of [
			(id: string) =>
				db
					.update(oauthClients)
					.set({ redirect_uris: [OTHER] })
					.where(eq(oauthClients.id, id)),
			(id: string) => db.delete(oauthClients).where(eq(oauthClients.id, id)),
		]) {
			const { client, member } = await registered();
			const { parameters } = await request(client.id);
			const sent = await call("POST", "/api/app_requests", {
				key: member.key,
				body: { ...parameters, scopes: ["project:read"] },
				env: racing(() => change(client.id)),
			});
			expect(sent.status).toBe(400);
			const codes = await db.select().from(oauthCodes).where(eq(oauthCodes.user_id, member.id));
			expect(codes).toEqual([]);
		}
	});
});

describe("deleting a registered app", () => {
	test("ends all its access and its codes at once, with an event for each", async () => {
		const { id, key, client, path, here, member } = await registered();
		const [other, left] = [await world(), await world()];
		await db
			.insert(members)
			.values({ organization_id: organizationId(other.id), user_id: member.id, level: 1 });
		const client_id = client.id;
		const first = await granted({ key }, { client_id });
		const second = await granted(member, {
			client_id,
			choice: { scopes: ["project:read"], scoped_organizations: [id, other.id] },
		});
		// The member has left one of the organizations since.
		await db
			.update(personalApiKeys)
			.set({ scoped_organizations: [id, other.id, left.id] })
			.where(and(eq(personalApiKeys.client_id, client_id), eq(personalApiKeys.user_id, member.id)));
		const asked = await request(client_id);
		const code = await codeFor(member, asked);
		const byOther = await granted({ key });
		expect(await statusWith(first.access)).toBe(200);
		const deleted = await here("DELETE", path);
		expect([deleted.status, cost(deleted).trips]).toEqual([204, 2]);
		expect([await statusWith(first.access), await statusWith(second.access)]).toEqual([401, 401]);
		await expect(refresh(client_id, second.refresh)).rejects.toMatchObject(fails("invalid_grant"));
		await expect(exchange(code, asked)).rejects.toMatchObject(fails("invalid_grant"));
		expect(await statusWith(byOther.access)).toBe(200);
		const ended = { client_id, job: "app_deleted" };
		expect(await endings(id)).toEqual([ended, ended]);
		expect(await endings(other.id)).toEqual([ended]);
		expect(await endings(left.id)).toEqual([]);
		// Nobody sees where the admin of the app's organization was.
		const { body } = await other.here("GET", "/activity_log?scope=OauthGrant&activity=revoked");
		expect(body.results).toMatchObject([{ origin: null }]);
	});

	test("ends access that a member gives in the meantime", async () => {
		const { client, path, here, member } = await registered();
		const during = () => granted(member, { client_id: client.id }).then(() => undefined);
		const deleted = await here("DELETE", path, { env: racing(during) });
		expect(deleted.status).toBe(204);
		const left = await db
			.select()
			.from(personalApiKeys)
			.where(eq(personalApiKeys.client_id, client.id));
		expect(left).toEqual([]);
	});

	test("happens with its organization, too", async () => {
		const { client, here, member } = await registered();
		const { access } = await granted(member, { client_id: client.id });
		expect((await here("DELETE", "")).status).toBe(204);
		expect(await statusWith(access)).toBe(401);
	});

	test("of two admins at once, both succeed or see that it is gone", async () => {
		const { id, path, key, client } = await registered();
		const admin = await join(id, 8);
		const statuses = await Promise.all(
			[key, admin.key].map(
				async (key) => (await call("DELETE", `/api/organizations/${id}${path}`, { key })).status,
			),
		);
		expect(statuses.toSorted()).toEqual([204, 404]);
		const { parameters } = await request(client.id);
		expect(await preview({ key }, parameters)).toMatchObject(NO_APP);
	});
});
