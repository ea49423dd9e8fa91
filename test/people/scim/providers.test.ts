/** What Microsoft Entra ID and Okta send, as their documentation for developers describes it. */
import { eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { domains } from "../../../src/db/schema/organizations.ts";
import { users } from "../../../src/db/schema/people.ts";
import { codeFor, exchange, fails, granted, refresh, request } from "../../oauth/support.ts";
import { verify } from "../../sign_in/link/support.ts";
import { finish, userWith, who } from "../../sign_in/oidc/support.ts";
import { link, sessionOf } from "../../support/domains.ts";
import { GROUP, PATCH, provisioned, USER } from "../../support/scim.ts";
import { call, db, keyFor } from "../../support/world.ts";

const LIST = "urn:ietf:params:scim:api:messages:2.0:ListResponse";
const ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";

type Home = Awaited<ReturnType<typeof provisioned>>;

const query = (text: string) => encodeURIComponent(text);

/** The user that Entra sends with its default mappings. */
const ofEntra = (userName: string) => ({
	schemas: [USER, ENTERPRISE],
	externalId: "jyoung",
	userName,
	active: true,
	displayName: "Joy Young",
	emails: [{ primary: true, type: "work", value: userName }],
	meta: { resourceType: "User" },
	name: { formatted: "Joy Young", familyName: "Young", givenName: "Joy" },
	roles: [],
	title: "Engineer",
	[ENTERPRISE]: { department: "Research", employeeNumber: "701984" },
});

/** The user that Okta sends. */
const ofOkta = (userName: string) => ({
	schemas: [USER],
	userName,
	name: { givenName: "Test", familyName: "User" },
	emails: [{ primary: true, value: userName, type: "work" }],
	displayName: "Test User",
	locale: "en-US",
	externalId: "00ujl29u0le5T6Aj10h7",
	groups: [],
	password: "1mz050nq",
	active: true,
});

/** Looks a user up as Entra does before each change. Returns the ids. */
async function lookUp(home: Home, userName: string): Promise<string[]> {
	const filter = query(`userName eq "${userName}"`);
	const { status, body } = await home.scim("GET", `/Users?filter=${filter}`);
	expect([status, body.schemas]).toEqual([200, [LIST]]);
	expect(body.totalResults).toBe(body.Resources.length);
	return body.Resources.map(({ id }: { id: string }) => id);
}

test("Entra's test of the connection finds nobody, and that is a success", async () => {
	const home = await provisioned();
	const filter = query(`userName eq "${crypto.randomUUID()}"`);
	const { status, body } = await home.scim("GET", `/Users?filter=${filter}`);
	expect([status, body]).toEqual([
		200,
		{ schemas: [LIST], totalResults: 0, startIndex: 1, itemsPerPage: 0, Resources: [] },
	]);
});

test("Entra looks a user up, creates, changes, disables, enables and deletes it", async () => {
	const home = await provisioned();
	const userName = home.address("joy.young");
	expect(await lookUp(home, userName)).toEqual([]);
	const created = await home.scim("POST", "/Users", { body: ofEntra(userName) });
	expect([created.status, created.body]).toMatchObject([
		201,
		{ externalId: "jyoung", userName, active: true, displayName: "Joy Young" },
	]);
	const path = `/Users/${created.body.id}`;
	expect(await lookUp(home, userName)).toEqual([created.body.id]);
	const changed = await home.patch(
		path,
		{ op: "Replace", path: "displayName", value: "Joy Jung" },
		{ op: "Replace", path: "name.familyName", value: "Jung" },
		{ op: "Add", path: "name.formatted", value: "Joy Jung" },
		{ op: "Replace", path: 'emails[type eq "work"].value', value: "elsewhere@example.org" },
		{ op: "Add", path: 'phoneNumbers[type eq "work"].value', value: "+1 555 0100" },
		{ op: "Add", path: 'addresses[type eq "work"].formatted', value: "Main Street 1" },
		{ op: "Add", path: `${ENTERPRISE}:department`, value: "Sales" },
		{ op: "Add", path: `${ENTERPRISE}:manager`, value: [{ $ref: "../Users/1", value: "1" }] },
		{ op: "Remove", path: "title" },
		{ op: "Replace", path: `${USER}:externalId`, value: "jjung" },
	);
	expect([changed.status, changed.body]).toMatchObject([
		200,
		{
			userName,
			externalId: "jjung",
			displayName: "Joy Jung",
			name: { formatted: "Joy Jung", familyName: "Jung", givenName: "Joy" },
			emails: [{ value: userName, type: "work", primary: true }],
		},
	]);
	expect((await home.member(userName)).user).toMatchObject({
		first_name: "Joy",
		last_name: "Jung",
	});
	const disabled = await home.patch(path, { op: "Replace", path: "active", value: "False" });
	expect([disabled.status, disabled.body.active]).toEqual([200, false]);
	expect(await home.member(userName)).toBeUndefined();
	// A disabled user is still found, so that it isn't created a second time.
	expect(await lookUp(home, userName)).toEqual([created.body.id]);
	const enabled = await home.patch(path, { op: "Replace", path: "active", value: "True" });
	expect([enabled.status, enabled.body.active]).toEqual([200, true]);
	expect((await home.member(userName)).user.uuid).toBe(created.body.id);
	expect((await home.scim("DELETE", path)).status).toBe(204);
	expect((await home.scim("DELETE", path)).status).toBe(404);
	expect((await home.scim("GET", path)).status).toBe(404);
	expect(await home.member(userName)).toBeUndefined();
});

test("Entra's other form of a PATCH, with paths as keys of one value, does the same", async () => {
	const home = await provisioned();
	const person = await home.add(undefined, { name: { givenName: "Joy", familyName: "Young" } });
	const { status, body } = await home.patch(`/Users/${person.id}`, {
		op: "replace",
		value: {
			displayName: "Joy Jung",
			"name.familyName": "Jung",
			'emails[type eq "work"].value': "elsewhere@example.org",
			[`${ENTERPRISE}:department`]: "Sales",
			active: false,
		},
	});
	expect([status, body]).toMatchObject([
		200,
		{ displayName: "Joy Jung", name: { givenName: "Joy", familyName: "Jung" }, active: false },
	]);
});

test("Entra creates a group, looks it up, and adds and removes its members", async () => {
	const home = await provisioned();
	const [ada, bob] = [await home.add(), await home.add()];
	const found = async () => {
		const filter = query('displayName eq "Engineering"');
		const path = `/Groups?excludedAttributes=members&filter=${filter}`;
		return (await home.scim("GET", path)).body;
	};
	expect(await found()).toMatchObject({ totalResults: 0, Resources: [] });
	const { status, body } = await home.scim("POST", "/Groups", {
		body: {
			schemas: [GROUP, "http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group"],
			externalId: "8aa1a0c0-c4c3-4bc0-b4a5-2ef676900159",
			displayName: "Engineering",
			meta: { resourceType: "Group" },
		},
	});
	expect([status, body.members]).toEqual([201, []]);
	expect((await found()).Resources).toMatchObject([{ id: body.id, displayName: "Engineering" }]);
	expect((await found()).Resources[0]).not.toHaveProperty("members");
	const path = `/Groups/${body.id}`;
	const members = async () =>
		(await home.scim("GET", path)).body.members.map(({ value }: { value: string }) => value).sort();
	const isMember = async (id: string) => {
		const filter = query(`id eq "${body.id}" and members eq "${id}"`);
		return (await home.scim("GET", `/Groups?filter=${filter}`)).body.totalResults;
	};
	const change = async (op: string, ...ids: string[]) => {
		const value = ids.map((id) => ({ $ref: null, value: id }));
		expect((await home.patch(path, { op, path: "members", value })).status).toBe(200);
	};
	await change("Add", ada.id);
	await change("Add", bob.id, ada.id);
	expect(await members()).toEqual([ada.id, bob.id].sort());
	expect([await isMember(ada.id), await isMember(body.id)]).toEqual([1, 0]);
	await change("Remove", ada.id);
	expect(await members()).toEqual([bob.id]);
	// Again, when the member or all members are gone already.
	await change("Remove", ada.id);
	await change("Remove", bob.id);
	await change("Remove", bob.id);
	expect(await members()).toEqual([]);
	await change("Add", ada.id, bob.id);
	const renamed = await home.patch(path, { op: "Replace", path: "displayName", value: "Makers" });
	expect([renamed.status, renamed.body.displayName]).toEqual([200, "Makers"]);
	const emptied = await home.patch(
		path,
		{ op: "Remove", path: `members[value eq "${ada.id}"]` },
		{ op: "Remove", path: `members[value eq "${ada.id}"]` },
		{ op: "Remove", path: `members[value eq "${bob.id}"]` },
		{ op: "Remove", path: `members[value eq "${bob.id}"]` },
		{ op: "Remove", path: "members", value: [{ value: bob.id }] },
	);
	expect([emptied.status, emptied.body.members]).toEqual([200, []]);
	expect((await home.scim("DELETE", path)).status).toBe(204);
});

test("Okta's test of the connection reads a page of users and of groups", async () => {
	const home = await provisioned();
	const people = [await home.add(), await home.add(), await home.add()];
	const first = await home.scim("GET", "/Users?startIndex=1&count=2");
	expect([first.status, first.body]).toMatchObject([
		200,
		{ schemas: [LIST], totalResults: 3, startIndex: 1, itemsPerPage: 2 },
	]);
	const second = (await home.scim("GET", "/Users?startIndex=3&count=2")).body;
	expect(second).toMatchObject({ totalResults: 3, startIndex: 3, itemsPerPage: 1 });
	expect([...first.body.Resources, ...second.Resources].map(({ id }) => id)).toEqual(
		people.map(({ id }) => id),
	);
	const groups = await home.scim("GET", "/Groups?startIndex=1&count=100");
	expect([groups.status, groups.body.totalResults]).toEqual([200, 0]);
});

test("Okta looks a user up, creates, replaces, deactivates and activates it", async () => {
	const home = await provisioned();
	const userName = home.address("test.user");
	const filter = query(`userName eq "${userName}"`);
	const before = await home.scim("GET", `/Users?filter=${filter}&startIndex=1&count=100`);
	expect([before.status, before.body.totalResults]).toEqual([200, 0]);
	const profile = ofOkta(userName);
	const { status, body } = await home.scim("POST", "/Users", { body: profile });
	expect([status, body.userName]).toEqual([201, userName]);
	expect(body).not.toHaveProperty("password");
	const path = `/Users/${body.id}`;
	const read = await home.scim("GET", path);
	// Okta sends back the whole user as it read it, with its changes.
	const replaced = await home.scim("PUT", path, {
		body: { ...read.body, name: { givenName: "Another", familyName: "User" }, displayName: null },
	});
	expect([replaced.status, replaced.body]).toMatchObject([
		200,
		{ id: body.id, userName, active: true, name: { givenName: "Another", familyName: "User" } },
	]);
	expect(replaced.body.externalId).toBe(profile.externalId);
	expect(replaced.body).not.toHaveProperty("displayName");
	for (const active of [false, true]) {
		const changed = await home.scim("PATCH", path, {
			body: { schemas: [PATCH], Operations: [{ op: "replace", value: { active } }] },
		});
		expect([changed.status, changed.body.active]).toEqual([200, active]);
		expect((await home.member(userName)) !== undefined).toBe(active);
	}
	const off = await home.scim("PUT", path, { body: { ...profile, active: false } });
	expect([off.status, off.body.active]).toEqual([200, false]);
	const taken = await home.scim("POST", "/Users", { body: profile });
	expect([taken.status, taken.body.active]).toEqual([201, true]);
});

test("Okta pushes a group: created, renamed with its id, its members replaced and changed", async () => {
	const home = await provisioned();
	const [ada, bob, eve] = [await home.add(), await home.add(), await home.add()];
	const { body } = await home.scim("POST", "/Groups", {
		body: { schemas: [GROUP], displayName: "Sales", members: [] },
	});
	const path = `/Groups/${body.id}`;
	const change = async (...operations: object[]) => {
		const { status, body } = await home.patch(path, ...operations);
		expect(status).toBe(200);
		return [body.displayName, ...body.members.map(({ value }: { value: string }) => value)];
	};
	const member = ({ id, userName }: typeof ada) => ({ value: id, display: userName });
	expect(
		await change({ op: "replace", value: { id: body.id, displayName: "Sales EMEA" } }),
	).toEqual(["Sales EMEA"]);
	expect(
		await change({ op: "replace", path: "members", value: [member(ada), member(bob)] }),
	).toEqual(["Sales EMEA", ada.id, bob.id]);
	expect(
		await change(
			{ op: "remove", path: `members[value eq "${ada.id}"]` },
			{ op: "add", path: "members", value: [member(eve)] },
		),
	).toEqual(["Sales EMEA", bob.id, eve.id]);
	expect(await change({ op: "replace", value: { members: [member(ada)] } })).toEqual([
		"Sales EMEA",
		ada.id,
	]);
	const replaced = await home.scim("PUT", path, {
		body: { ...(await home.scim("GET", path)).body, members: [member(bob)] },
	});
	expect(replaced.body.members).toMatchObject([{ value: bob.id }]);
	expect((await home.scim("DELETE", path)).status).toBe(204);
});

/** Gives a user of the provider all that somebody could work with. Returns what it comes to. */
async function everything(home: Home, userName: string) {
	await db
		.update(domains)
		.set({ jit_provisioning_enabled: true })
		.where(eq(domains.id, home.domain_id));
	const user = await userWith(userName);
	if (!user) throw new Error("There is no such user.");
	await verify(user);
	const oidc = { connection: `oidc:${home.domain_id}`, method: "oidc" };
	const subject = await link(user.id, oidc.connection, userName);
	const key = await keyFor(user.id);
	const keys = [
		key,
		await keyFor(user.id, { scoped_organizations: [home.id] }),
		await keyFor(user.id, { scoped_projects: [home.project] }),
		await sessionOf(user.id, oidc),
		await sessionOf(user.id),
	];
	const app = await granted({ key });
	const asked = await request(app.client_id);
	const code = await codeFor({ key }, asked);
	const invite = await home.here("POST", "/invites", {
		key,
		body: { target_email: home.address(), send_email: false },
	});
	const invitation = String(invite.body.accept_url).split("/").at(-1);
	const { body: account } = await home.here("POST", "/service_accounts", {
		body: { name: "Deployment" },
	});
	const { body: ofAccount } = await home.here("POST", `/service_accounts/${account.id}/keys`, {
		body: { label: "CI", scopes: ["organization:read"] },
	});
	const statuses = (all: string[]) =>
		Promise.all(all.map(async (each) => (await home.here("GET", "", { key: each })).status));
	/** Expects that this works, with the exception of what needs another organization. */
	const works = async () =>
		expect(new Set(await statuses([...keys.filter((_, i) => i !== 2), ofAccount.value]))).toEqual(
			new Set([200]),
		);
	const isMember = async (email: string) => (await home.member(email)) !== undefined;
	/** Expects that nothing works of what the person has, nor what they could come back with. */
	const nothingWorks = async () => {
		expect(new Set(await statuses([...keys, app.access]))).toEqual(new Set([401]));
		await expect(refresh(app.client_id, app.refresh)).rejects.toMatchObject(fails("invalid_grant"));
		await expect(exchange(code, asked)).rejects.toMatchObject(fails("invalid_grant"));
		const accepted = await call("POST", `/api/invites/${invitation}/accept`);
		expect(accepted.status).toBeGreaterThanOrEqual(400);
		for (const method of [
			{ subject },
			{ connection: "github", domain_id: null },
			{ connection: "google-oauth2", domain_id: null },
		])
			await finish(home, who(home, { email: userName, ...method }));
		expect(await isMember(userName)).toBe(false);
		const { email } = (await db.select().from(users).where(eq(users.id, user.id)))[0] ?? {};
		expect(await isMember(String(email))).toBe(false);
		// It belongs to the organization, and works on (docs/organizations.md#service-accounts).
		expect(await statuses([ofAccount.value])).toEqual([200]);
	};
	return { works, nothingWorks };
}

test("Entra adds a person, renames and disables them in one PATCH, and deletes them: nothing works", async () => {
	const home = await provisioned();
	const userName = home.address("joy.young");
	expect(await lookUp(home, userName)).toEqual([]);
	const created = await home.scim("POST", "/Users", { body: ofEntra(userName) });
	const path = `/Users/${created.body.id}`;
	const group = await home.group("Admins");
	await home.grant(group.id, { level: 8, projects: [{ id: home.project, level: 8 }] });
	const member = { $ref: null, value: created.body.id };
	await home.patch(`/Groups/${group.id}`, { op: "Add", path: "members", value: [member] });
	expect((await home.member(userName)).level).toBe(8);
	const { works, nothingWorks } = await everything(home, userName);
	await works();
	// A user who is deleted softly keeps this name for 30 days.
	const deleted = home.address("0123456789abcdef0123456789abcdefjoy.young");
	const disabled = await home.patch(
		path,
		{ op: "Replace", path: "userName", value: deleted },
		{ op: "Replace", path: 'emails[type eq "work"].value', value: deleted },
		{ op: "Replace", path: "active", value: "False" },
	);
	expect([disabled.status, disabled.body]).toMatchObject([
		200,
		{ userName: deleted, active: false },
	]);
	await nothingWorks();
	expect(await lookUp(home, deleted)).toEqual([created.body.id]);
	await home.patch(`/Groups/${group.id}`, { op: "Remove", path: "members", value: [member] });
	expect((await home.scim("DELETE", path)).status).toBe(204);
	expect((await home.scim("DELETE", path)).status).toBe(404);
	await nothingWorks();
	// Somebody else with the address is another account.
	expect(await lookUp(home, userName)).toEqual([]);
	const other = await home.scim("POST", "/Users", { body: ofEntra(userName) });
	expect([other.status, other.body.id === created.body.id]).toEqual([201, false]);
	expect((await home.member(userName)).level).toBe(1);
});

test("Okta, which sends whole users, adds, renames, deactivates and reactivates a person: nothing from before works", async () => {
	const home = await provisioned();
	const userName = home.address("test.user");
	const profile = ofOkta(userName);
	const { body } = await home.scim("POST", "/Users", { body: profile });
	const path = `/Users/${body.id}`;
	const put = async (change: object) => {
		const before = (await home.scim("GET", path)).body;
		const { status, body } = await home.scim("PUT", path, { body: { ...before, ...change } });
		expect(status).toBe(200);
		return body;
	};
	const group = await home.group("Admins", [body.id]);
	await home.grant(group.id, { level: 8 });
	const renamed = home.address("test.lovelace");
	const named = await put({
		userName: renamed,
		name: { givenName: "Test", familyName: "Lovelace" },
	});
	expect(named).toMatchObject({ id: body.id, userName: renamed, active: true });
	expect(await home.member(userName)).toBeUndefined();
	const { works, nothingWorks } = await everything(home, renamed);
	await works();
	const left = await put({
		userName: `${"x".repeat(65)}@elsewhere.example`,
		emails: [{ primary: true, value: "x", type: "work" }],
		displayName: "x".repeat(300),
		active: false,
	});
	expect(left).toMatchObject({ userName: renamed, active: false });
	await nothingWorks();
	expect(await put({ active: true })).toMatchObject({ userName: renamed, active: true });
	expect((await home.member(renamed)).level).toBe(8);
	expect(await put({ active: false })).toMatchObject({ active: false });
	await nothingWorks();
});
