import { eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { activityLog } from "../../../src/db/schema/activity_log.ts";
import { domains, organizationId } from "../../../src/db/schema/organizations.ts";
import { invites, members, projectMembers, users } from "../../../src/db/schema/people.ts";
import { personalApiKeys } from "../../../src/db/schema/personal_api_keys.ts";
import { scimTokens } from "../../../src/db/schema/scim.ts";
import { outbox } from "../../support/mail.ts";
import { ERROR, provisioned, USER } from "../../support/scim.ts";
import { eventually } from "../../support/time.ts";
import { call, cost, db, keyFor, racing, world } from "../../support/world.ts";

const log = (organization_id: number) =>
	db
		.select()
		.from(activityLog)
		.where(eq(activityLog.organization_id, organization_id))
		.orderBy(activityLog.position);

test("people of an internationalized domain are added and found, however it is written", async () => {
	const home = await provisioned();
	const domain = `${crypto.randomUUID()}.xn--p1ai`;
	await db.update(domains).set({ domain }).where(eq(domains.id, home.domain_id));
	const written = `Ada@${domain.toUpperCase()}.`;
	expect(await home.add(written)).toMatchObject({ userName: `ada@${domain}` });
	const filter = encodeURIComponent(`userName eq "${written}"`);
	const { body } = await home.scim("GET", `/Users?filter=${filter}`);
	expect(body).toMatchObject({ totalResults: 1, Resources: [{ userName: `ada@${domain}` }] });
	const members = await home.here("GET", `/members?email=${encodeURIComponent(written)}`);
	expect(members.body.results).toMatchObject([{ user: { email: `ada@${domain}` } }]);
	const mails = outbox();
	const signIn = { body: { email: written }, env: mails.env };
	expect((await call("POST", "/api/sign_in", signIn)).status).toBe(202);
	await eventually(async () => expect(mails.take()).toMatchObject([{ to: `ada@${domain}` }]));
});

test("a POST of an unknown address makes an account and a membership", async () => {
	const home = await provisioned();
	const userName = home.address("ada");
	const { status, headers, body } = await home.scim("POST", "/Users", {
		body: {
			schemas: [USER],
			userName: userName.toUpperCase(),
			externalId: "00u1",
			name: { givenName: "Ada", familyName: "Lovelace" },
			displayName: "Ada L.",
			active: true,
			emails: [{ value: "elsewhere@example.org", primary: true }],
			password: "s3cret",
		},
	});
	expect(status).toBe(201);
	expect(headers.get("content-type")).toBe("application/scim+json");
	expect(headers.get("location")).toBe(
		`https://tenantry.test/scim/v2/${home.domain_id}/Users/${body.id}`,
	);
	expect(headers.get("etag")).toBe(body.meta.version);
	expect(body).toMatchObject({
		schemas: [USER],
		userName,
		externalId: "00u1",
		name: { givenName: "Ada", familyName: "Lovelace" },
		displayName: "Ada L.",
		active: true,
		emails: [{ value: userName, type: "work", primary: true }],
	});
	expect(await home.member(userName)).toMatchObject({
		level: 1,
		user: { uuid: body.id, first_name: "Ada", last_name: "Lovelace" },
	});
	expect((await home.scim("GET", `/Users/${body.id}`)).body).toEqual(body);
	const entries = await log(home.organization_id);
	expect(entries.slice(-2)).toMatchObject(
		["User", "Member"].map((scope) => ({
			scope,
			activity: "created",
			name: userName,
			user_id: null,
			trigger: { job_type: "scim", token_id: expect.any(String) },
		})),
	);
});

test("a POST of a known address adds the membership, of a member takes over, of a managed one is a 409", async () => {
	const home = await provisioned();
	const email = home.address();
	await db.insert(users).values({ email, first_name: "Grace" });
	const known = await home.scim("POST", "/Users", { body: { userName: email } });
	expect(known.status).toBe(201);
	expect((await home.member(email)).user.uuid).toBe(known.body.id);
	const employee = await home.employee(8);
	const taken = await home.scim("POST", "/Users", {
		body: { userName: employee.email, externalId: "x" },
	});
	expect([taken.status, taken.body.id]).toEqual([201, employee.uuid]);
	expect((await home.member(employee.email)).level).toBe(8);
	const again = await home.scim("POST", "/Users", { body: { userName: email } });
	expect([again.status, again.body]).toEqual([
		409,
		{
			schemas: [ERROR],
			status: "409",
			scimType: "uniqueness",
			detail: "There is a user with this userName already.",
		},
	]);
});

test("several POSTs of one address at once make one account", async () => {
	const home = await provisioned();
	const userName = home.address();
	const results = await Promise.all(
		Array.from({ length: 10 }, () => home.scim("POST", "/Users", { body: { userName } })),
	);
	expect(results.map(({ status, body }) => body.scimType ?? status).sort()).toEqual([
		201,
		...Array(9).fill("uniqueness"),
	]);
	expect(await db.select().from(users).where(eq(users.email, userName))).toHaveLength(1);
});

test.each([
	["nobody", undefined],
	["a text that isn't an address", "ada"],
	["another domain", "ada@example.org"],
	["a domain below", "ada@sub."],
	["a domain that ends the same", "ada@x"],
])("a userName of %s is a 400 invalidValue, and makes nothing", async (_, start) => {
	const home = await provisioned();
	const userName = start?.endsWith(".") || start?.endsWith("x") ? start + home.domain : start;
	const { status, body } = await home.scim("POST", "/Users", { body: { userName } });
	expect([status, body.scimType]).toEqual([400, "invalidValue"]);
	expect((await home.scim("GET", "/Users")).body.totalResults).toBe(0);
});

test("only people of the domain and those whom SCIM added are visible", async () => {
	const [home, other] = [await provisioned(), await provisioned()];
	const employee = await home.employee();
	const gone = await home.add();
	await home.patch(`/Users/${gone.id}`, { op: "replace", path: "active", value: false });
	const outsider = await other.employee();
	const guest = await home.employee(1, other.address());
	const { body } = await home.scim("GET", "/Users");
	expect(body.Resources.map(({ id }: { id: string }) => id).sort()).toEqual(
		[employee.uuid, gone.id].sort(),
	);
	for (const hidden of [outsider.uuid, guest.uuid, home.owner.uuid])
		for (const method of ["GET", "PUT", "PATCH", "DELETE"]) {
			const Operations = [{ op: "replace", path: "active", value: false }];
			const sent = method === "PUT" ? { userName: guest.email } : { Operations };
			const path = `/Users/${hidden}`;
			const { status } = await home.scim(method, path, method === "GET" ? {} : { body: sent });
			expect(status).toBe(404);
		}
	expect((await call("GET", "/api/users/@me", { key: guest.key })).body.organization.id).toBe(
		home.id,
	);
});

test.each([
	["active: false", "PATCH"],
	["DELETE", "DELETE"],
])("%s ends everything of a person in the organization at once", async (_, method) => {
	const home = await provisioned();
	const person = await home.employee();
	await home.here("PATCH", `/../../projects/${home.project}`, { body: { access_control: true } });
	await db.insert(projectMembers).values({
		project_id: home.project,
		organization_id: home.organization_id,
		user_id: person.id,
		level: 1,
	});
	await db.insert(invites).values({
		organization_id: home.organization_id,
		target_email: person.email,
		token_hash: crypto.randomUUID(),
		emailing_attempt_made: false,
		level: 8,
		created_by: home.owner.id,
	});
	const restricted = await keyFor(person.id, { scoped_organizations: [home.id] });
	const project = await keyFor(person.id, { scoped_projects: [home.project] });
	await keyFor(person.id, { client_id: "https://notes.example/app", audience: "api" });
	for (const expires_at of ["2999-01-01T00:00:00.000Z", "2020-01-01T00:00:00.000Z"])
		await keyFor(person.id, {
			session: { method: "mail", connection: null, address: null, user_agent: null },
			expires_at,
		});
	const paths = ["/members", `/../../projects/${home.project}`];
	for (const key of [person.key, restricted])
		expect((await home.here("GET", "/members", { key })).status).toBe(200);
	const path = `/Users/${person.uuid}`;
	const { status } =
		method === "DELETE"
			? await home.scim("DELETE", path)
			: await home.patch(path, { op: "Replace", path: "active", value: "False" });
	expect(status).toBe(method === "DELETE" ? 204 : 200);
	for (const key of [person.key, restricted, project])
		for (const each of paths) expect((await home.here("GET", each, { key })).status).toBe(401);
	const isTheirs = eq(personalApiKeys.user_id, person.id);
	expect(await db.select().from(personalApiKeys).where(isTheirs)).toEqual([]);
	const left = await Promise.all([
		db.select().from(members).where(eq(members.user_id, person.id)),
		db.select().from(projectMembers).where(eq(projectMembers.user_id, person.id)),
		db.select().from(invites).where(eq(invites.target_email, person.email)),
	]);
	expect(left).toEqual([[], [], []]);
	const scopes = (await log(home.organization_id)).slice(-6);
	expect(scopes.map(({ scope, activity }) => `${scope} ${activity}`).sort()).toEqual([
		"Member deleted",
		"OauthGrant revoked",
		...Array(3).fill("PersonalApiKey deleted"),
		"Session deleted",
	]);
	const removal = scopes.find(({ scope }) => scope === "Member")?.changes ?? [];
	expect(removal.map(({ field, before }) => [field, before])).toEqual([
		["level", 1],
		["projects", 1],
		["keys", 4],
	]);
	const shown = await home.scim("GET", path);
	expect([shown.status, shown.body.active]).toEqual(
		method === "DELETE" ? [404, undefined] : [200, false],
	);
});

test("a person's other organizations, and the keys for them, stay untouched", async () => {
	const [home, other] = [await provisioned(), await world()];
	const person = await home.employee();
	await db
		.insert(members)
		.values({ organization_id: organizationId(other.id), user_id: person.id, level: 8 });
	const theirs = await keyFor(person.id, { scoped_organizations: [other.id] });
	const ours = await keyFor(person.id, { scoped_organizations: [home.id] });
	const session = (connection: string) => ({
		session: { method: "oidc", connection, address: null, user_agent: null },
	});
	const through = await keyFor(person.id, session(`oidc:${home.domain_id}`));
	const elsewhere = await keyFor(person.id, session("github"));
	await home.scim("PUT", `/Users/${person.uuid}`, {
		body: { userName: person.email, name: { givenName: "Renamed" }, active: false },
	});
	const status = async (key: string, path: string) => (await call("GET", path, { key })).status;
	const there = `/api/organizations/${other.id}/members`;
	const here = `/api/organizations/${home.id}/members`;
	for (const key of [person.key, theirs, elsewhere]) expect(await status(key, there)).toBe(200);
	for (const key of [person.key, elsewhere]) expect(await status(key, here)).toBe(403);
	for (const key of [ours, through]) expect(await status(key, there)).toBe(401);
	const me = await call("GET", "/api/users/@me", { key: person.key });
	expect(me.body).toMatchObject({ first_name: "", organization: { id: other.id } });
});

test("active: true restores the level and the projects; what was removed by hand is gone", async () => {
	const home = await provisioned();
	const person = await home.employee(8);
	await db.insert(projectMembers).values({
		project_id: home.project,
		organization_id: home.organization_id,
		user_id: person.id,
		level: 8,
	});
	const path = `/Users/${person.uuid}`;
	await home.patch(path, { op: "replace", value: { active: false } });
	expect(await home.member(person.email)).toBeUndefined();
	const back = await home.patch(path, { op: "replace", value: { active: true } });
	expect(back.body.active).toBe(true);
	expect((await home.member(person.email)).level).toBe(8);
	const isTheirs = eq(projectMembers.user_id, person.id);
	expect(await db.select().from(projectMembers).where(isTheirs)).toMatchObject([
		{ project_id: home.project, level: 8 },
	]);
	await home.here("DELETE", `/members/${person.uuid}`);
	expect((await home.scim("GET", path)).body.active).toBe(false);
	await home.patch(path, { op: "replace", value: { active: true } });
	expect((await home.member(person.email)).level).toBe(1);
	expect(await db.select().from(projectMembers).where(isTheirs)).toEqual([]);
});

test("a project that was deleted in the meantime isn't restored", async () => {
	const home = await provisioned();
	const person = await home.employee();
	const { body } = await home.here("POST", "/projects", { body: { name: "Brief" } });
	await home.ask("POST", `/api/projects/${body.id}/members`, {
		body: { user_uuid: person.uuid, level: 8 },
	});
	const path = `/Users/${person.uuid}`;
	await home.patch(path, { op: "replace", path: "active", value: false });
	await home.ask("DELETE", `/api/projects/${body.id}`);
	const back = await home.patch(path, { op: "replace", path: "active", value: true });
	expect([back.status, back.body.active]).toEqual([200, true]);
	const last = (await log(home.organization_id)).at(-1);
	expect(last).toMatchObject({ scope: "Member", activity: "created", name: person.email });
});

/** Deletes a user while something else happens between the read and the write. */
const deleteWhile = (
	{ domain_id, token }: Awaited<ReturnType<typeof provisioned>>,
	uuid: string,
	between: () => Promise<unknown>,
) =>
	call("DELETE", `/scim/v2/${domain_id}/Users/${uuid}`, {
		headers: { authorization: `Bearer ${token}` },
		env: racing(between),
		// The endpoint isn't in the OpenAPI document, so `call` throws.
	}).then(
		({ status }) => String(status),
		(error: Error) => /→ (\d+)/.exec(error.message)?.[1],
	);

test("a token that ends, or whose domain is unverified, between read and write changes nothing", async () => {
	const isToken = (id: string) => eq(scimTokens.domain_id, id);
	const expires_at = "2026-01-01T00:00:00.000Z";
	for (const end of [
		(id: string) => db.delete(scimTokens).where(isToken(id)),
		(id: string) => db.update(scimTokens).set({ expires_at }).where(isToken(id)),
		(id: string) => db.update(domains).set({ verified_at: null }).where(eq(domains.id, id)),
	]) {
		const home = await provisioned();
		const person = await home.employee(1);
		expect(await deleteWhile(home, person.uuid, () => end(home.domain_id))).toBe("403");
		expect((await home.member(person.email)).level).toBe(1);
	}
});

test("an owner can't be removed, also if they become one in that moment", async () => {
	const home = await provisioned();
	const owner = await home.employee(15);
	for (const send of [
		() => home.patch(`/Users/${owner.uuid}`, { op: "replace", path: "active", value: false }),
		() => home.scim("DELETE", `/Users/${owner.uuid}`),
	]) {
		const { status, body } = await send();
		expect([status, body.scimType]).toEqual([403, "mutability"]);
	}
	expect((await home.member(owner.email)).level).toBe(15);
	const rising = await home.employee(8);
	const status = await deleteWhile(home, rising.uuid, () =>
		db.update(members).set({ level: 15 }).where(eq(members.user_id, rising.id)),
	);
	expect(status).toBe("403");
	expect((await home.member(rising.email)).level).toBe(15);
});

test("an account that the operator deactivated can't be activated", async () => {
	const home = await provisioned();
	const person = await home.add();
	await db.update(users).set({ is_active: false }).where(eq(users.uuid, person.id));
	expect((await home.scim("GET", `/Users/${person.id}`)).body.active).toBe(false);
	const on = { op: "replace", path: "active", value: true };
	const { status } = await home.patch(`/Users/${person.id}`, on);
	expect(status).toBe(403);
});

test("names change for an account that belongs only here, and are forgotten by a PUT without them", async () => {
	const home = await provisioned();
	const person = await home.add(undefined, { displayName: "Ada Lovelace" });
	expect((await home.member(person.userName)).user.first_name).toBe("Ada Lovelace");
	await home.patch(
		`/Users/${person.id}`,
		{ op: "Add", path: "name.givenName", value: "Ada" },
		{ op: "Add", path: "name.familyName", value: "King" },
	);
	expect((await home.member(person.userName)).user).toMatchObject({
		first_name: "Ada",
		last_name: "King",
	});
	const { body } = await home.scim("PUT", `/Users/${person.id}`, {
		body: { userName: person.userName },
	});
	expect(body).not.toHaveProperty("name");
	expect(body.active).toBe(true);
});

test("ETags: If-None-Match saves the body, If-Match protects from lost updates", async () => {
	const home = await provisioned();
	const person = await home.add();
	const path = `/Users/${person.id}`;
	const { version } = person.meta;
	const known = await home.scim("GET", path, { headers: { "if-none-match": version } });
	expect([known.status, known.body]).toEqual([304, null]);
	const change = (externalId: string, match: string) =>
		home.scim("PUT", path, {
			body: { userName: person.userName, externalId },
			headers: { "if-match": match },
		});
	const changed = await change("1", version);
	expect([changed.status, changed.body.externalId]).toEqual([200, "1"]);
	expect(changed.body.meta.version).not.toBe(version);
	const late = await change("2", version);
	expect([late.status, late.body.schemas]).toEqual([412, [ERROR]]);
	expect((await home.scim("DELETE", path, { headers: { "if-match": version } })).status).toBe(412);
	expect((await home.scim("GET", path)).body.externalId).toBe("1");
});

test("a read is one round trip, a write two, and a change of nothing writes nothing", async () => {
	const home = await provisioned();
	const person = await home.add(undefined, { externalId: "1" });
	const path = `/Users/${person.id}`;
	const put = (externalId: string) =>
		home.scim("PUT", path, { body: { userName: person.userName, externalId } });
	const trips = async (result: Promise<Parameters<typeof cost>[0]>) => cost(await result).trips;
	expect(await trips(home.scim("GET", path))).toBe(1);
	expect(await trips(home.scim("GET", `/Users?filter=userName eq "${person.userName}"`))).toBe(1);
	expect(await trips(home.scim("GET", "/ServiceProviderConfig"))).toBe(1);
	expect(await trips(home.scim("POST", "/Users", { body: { userName: home.address() } }))).toBe(2);
	expect(await trips(put("2"))).toBe(2);
	expect(cost(await put("2"))).toMatchObject({ trips: 1, written: 0 });
	expect(await trips(home.scim("DELETE", path))).toBe(2);
});
