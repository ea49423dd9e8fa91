import { eq } from "drizzle-orm";
import { describe, expect, test, vi } from "vitest";
import { organizationId, organizations, projects } from "../../../src/db/schema/organizations.ts";
import { members, users } from "../../../src/db/schema/people.ts";
import { forbidden } from "../../support/errors.ts";
import { call, cost, db, join, keyFor, person, racing, world } from "../../support/world.ts";

type Home = Awaited<ReturnType<typeof world>>;

const uuid = expect.stringMatching(
	/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/,
);
const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const insufficient = forbidden("Your organization access level is insufficient.");

test("creating an organization makes its creator the owner, with a first project, and makes both current", async () => {
	const { key } = await person();
	const { status, body } = await call("POST", "/api/organizations/", {
		key,
		body: { name: "Zoë & Söhne" },
	});
	expect(status).toBe(201);
	const [team] = body.teams;
	expect(body).toEqual({
		...{ id: uuid, name: "Zoë & Söhne", slug: "zoe-sohne", logo_media_id: null },
		...{ created_at: timestamp, updated_at: timestamp, membership_level: 15 },
		teams: [
			{
				...{ id: expect.any(Number), uuid, organization: body.id },
				...{ name: "Default project", timezone: "UTC", access_control: false },
			},
		],
		...{ available_product_features: [], is_member_join_email_enabled: true, metadata: "{}" },
		...{ plugins_access_level: 6, customer_id: null, enforce_2fa: null, allowed_apps: null },
		...{ keys_must_expire: false, session_idle_minutes: 720, session_max_minutes: 10_080 },
		...{ logs_addresses: true, member_count: "1" },
	});
	const me = await call("GET", "/api/users/@me", { key });
	expect(me.body).toMatchObject({ organization: { id: body.id }, project: { id: team.id } });
	expect((await call("GET", "/api/organizations/@current/", { key })).body).toEqual(body);
});

test("a new organization gets the plugin access level that the operator has set", async () => {
	const { key } = await person();
	const options = { body: { name: "Acme" }, env: { DEFAULT_PLUGINS_ACCESS_LEVEL: "3" } };
	const made = await call("POST", "/api/organizations/", { key, ...options });
	expect(made.body.plugins_access_level).toBe(3);
});

test("a new organization begins with the access for everyone that the operator has set", async () => {
	const { key } = await person();
	const create = (DEFAULT_ACCESS_LEVELS: string) =>
		call("POST", "/api/organizations", {
			key,
			body: { name: "Acme" },
			env: { DEFAULT_ACCESS_LEVELS },
		});
	const { body: made } = await create(" batch_export:viewer, plugin : none");
	const path = `/api/organizations/${made.id}`;
	const controls = await call("GET", `${path}/access_controls`, { key });
	expect(controls.body.results).toMatchObject(
		[
			["plugin", "none"],
			["batch_export", "viewer"],
		].map(([resource, access_level]) => ({
			...{ resource, resource_id: null, role: null, member: null, access_level, created_by: null },
		})),
	);
	const member = await join(made.id, 1);
	const export_ = { name: "New", interval: "hour", destination: { type: "NoOp", config: {} } };
	const refused = await call("POST", `${path}/batch_exports`, { key: member.key, body: export_ });
	expect(refused).toMatchObject({ status: 403 });
	expect((await call("POST", `${path}/batch_exports`, { key, body: export_ })).status).toBe(201);
	const [first] = controls.body.results;
	expect((await call("DELETE", `${path}/access_controls/${first.id}`, { key })).status).toBe(204);
});

test("with a wrong setting of the access for everyone, no organization is created, and the log says why", async () => {
	const { ask } = await world();
	const logged = vi.spyOn(console, "error").mockImplementation(() => {});
	const env = { DEFAULT_ACCESS_LEVELS: "everything: viewer" };
	const made = ask("POST", "/api/organizations", { body: { name: "Acme" }, env });
	await expect(made).rejects.toThrow("→ 500");
	expect(JSON.stringify(logged.mock.calls)).toContain("DEFAULT_ACCESS_LEVELS has");
	logged.mockRestore();
	expect((await ask("GET", "/api/organizations")).body.count).toBe(1);
});

test("all writable fields are saved and returned", async () => {
	const { ask } = await world();
	const fields = {
		name: "All",
		logo_media_id: "01234567-89ab-cdef-0123-456789abcdef",
		is_member_join_email_enabled: false,
		enforce_2fa: true,
	};
	const { body } = await ask("POST", "/api/organizations", { body: fields });
	expect(body).toMatchObject(fields);
	expect((await ask("GET", `/api/organizations/${body.id}`)).body).toEqual(body);
	const cleared = { logo_media_id: null, enforce_2fa: null };
	const changed = await ask("PATCH", `/api/organizations/${body.id}`, { body: cleared });
	expect(changed.body).toMatchObject({ ...fields, ...cleared });
});

test("a slug that is taken gets a random suffix; a name without usable characters gives `organization`", async () => {
	const { ask } = await world("Twin peaks");
	const slug = async (name: string) =>
		(await ask("POST", "/api/organizations", { body: { name } })).body.slug;
	expect(await slug("Twin Peaks")).toMatch(/^twin-peaks-[a-z]{4}$/);
	expect(await slug("日本")).toMatch(/^organization-[a-z]{4}$/);
	expect(await slug("x".repeat(60))).toBe("x".repeat(48));
	expect(await slug("x".repeat(60))).toMatch(/^x{43}-[a-z]{4}$/);
});

test("parallel creates of the same name give distinct slugs", async () => {
	const { ask } = await world();
	const responses = await Promise.all(
		Array.from({ length: 10 }, () => ask("POST", "/api/organizations", { body: { name: "Race" } })),
	);
	expect(new Set(responses.map(({ body }) => body.slug)).size).toBe(10);
});

test("a rename keeps the slug, and PATCH {} changes nothing, not even updated_at", async () => {
	const { ask, id } = await world("Before");
	const path = `/api/organizations/${id}`;
	const before = (await ask("GET", path)).body;
	expect((await ask("PATCH", path, { body: {} })).body).toEqual(before);
	expect((await ask("PATCH", path, { body: { name: "Before" } })).body).toEqual(before);
	const after = (await ask("PATCH", path, { body: { name: "After" } })).body;
	const { created_at } = before;
	expect(after).toMatchObject({ name: "After", slug: "before", created_at });
	expect(after.updated_at > before.updated_at).toBe(true);
});

test("the list has the caller's own organizations, newest first; an empty list is a page, too", async () => {
	const { key } = await person();
	const empty = { count: 0, next: null, previous: null, results: [] };
	expect((await call("GET", "/api/organizations", { key })).body).toEqual(empty);
	const ids: string[] = [];
	for (const name of ["1", "2", "3"])
		ids.unshift((await call("POST", "/api/organizations", { key, body: { name } })).body.id);
	const { body } = await call("GET", "/api/organizations", { key });
	expect(body.results.map(({ id }: { id: string }) => id)).toEqual(ids);
});

test("a member reads, an admin changes, an owner deletes", async () => {
	const { id } = await world();
	const path = `/api/organizations/${id}`;
	const [member, admin, owner] = await Promise.all([1, 8, 15].map((level) => join(id, level)));
	const change = { body: { name: "Changed" } };
	expect((await call("GET", path, { key: member?.key })).body.membership_level).toBe(1);
	expect(await call("PATCH", path, { key: member?.key, ...change })).toMatchObject(insufficient);
	expect((await call("PATCH", path, { key: admin?.key, ...change })).body.name).toBe("Changed");
	expect(await call("DELETE", path, { key: admin?.key })).toMatchObject(insufficient);
	expect((await call("DELETE", path, { key: owner?.key })).status).toBe(204);
});

test("deleting an organization deletes its members and projects; its users stay and move to another organization", async () => {
	const { ask, id, owner } = await world();
	const other = (await ask("POST", "/api/organizations", { body: { name: "Other" } })).body;
	const someone = await join(id, 1);
	await ask("PATCH", "/api/users/@me", { body: { organization: id } });
	expect((await ask("DELETE", `/api/organizations/${id}`)).status).toBe(204);
	expect((await ask("GET", `/api/organizations/${id}`)).status).toBe(404);
	for (const table of [members, projects])
		expect(
			await db
				.select()
				.from(table)
				.where(eq(table.organization_id, organizationId(id))),
		).toEqual([]);
	expect((await ask("GET", "/api/users/@me")).body).toMatchObject({
		organization: { id: other.id },
		project: { id: other.teams[0].id },
	});
	const { key } = someone;
	const nothing = { organization: null, project: null, organizations: [] };
	expect((await call("GET", "/api/users/@me", { key })).body).toMatchObject(nothing);
	expect((await call("GET", "/api/organizations/@current", { key })).status).toBe(404);
	expect(await db.select().from(users).where(eq(users.id, owner.id))).toHaveLength(1);
});

test("what a deleted organization has left behind doesn't appear in a new one", async () => {
	const gone = await world();
	expect((await gone.here("DELETE", "")).status).toBe(204);
	const { here, organization_id } = await world();
	// The rows of the activity log, for example, stay after their organization and refer to it by its
	// integer.
	expect(organization_id).toBeGreaterThan(gone.organization_id);
	const { body } = await here("GET", "/events");
	expect(JSON.stringify(body.results)).not.toContain(gone.id);
});

test("member_count counts active members", async () => {
	const { here, id } = await world();
	const someone = await join(id, 1);
	expect((await here("GET", "")).body.member_count).toBe("2");
	await db.update(users).set({ is_active: false }).where(eq(users.id, someone.id));
	expect((await here("GET", "")).body.member_count).toBe("1");
});

test("ids are case-insensitive", async () => {
	const { ask, id } = await world();
	expect((await ask("GET", `/api/organizations/${id.toUpperCase()}`)).body.id).toBe(id);
});

test("features set by the operator are shown", async () => {
	const { here, id } = await world();
	const available_product_features = [{ key: "sso", name: "Single sign-on", limit: 3 }];
	await db
		.update(organizations)
		.set({ available_product_features })
		.where(eq(organizations.uuid, id));
	expect((await here("GET", "")).body).toMatchObject({ available_product_features });
});

test("a restricted key sees only its organizations and can't create any", async () => {
	const { ask, id, owner } = await world();
	await ask("POST", "/api/organizations", { body: { name: "Other" } });
	const key = await keyFor(owner.id, { scoped_organizations: [id] });
	const { body } = await call("GET", "/api/organizations", { key });
	expect(body).toMatchObject({ count: 1, results: [{ id }] });
	expect((await call("POST", "/api/organizations", { key, body: { name: "x" } })).status).toBe(403);
	expect((await call("GET", "/api/organizations/@current", { key })).body.detail).toMatch(
		/^API key does not have access to the requested organization: ID /,
	);
	const ofProject = await keyFor(owner.id, { scoped_projects: [1] });
	const listed = await call("GET", "/api/organizations", { key: ofProject });
	expect(listed.body.detail).toBe(
		"API keys with scoped projects are only supported on project-based endpoints.",
	);
});

describe("new organizations", () => {
	const limit = (n: number) => ({ ORGANIZATIONS_PER_DAY: String(n) });
	const create = ({ ask }: Pick<Home, "ask">, env: Partial<Env>) =>
		ask("POST", "/api/organizations", { body: { name: "One more" }, env });
	const throttled = { status: 429, body: { type: "throttled_error", code: "throttled" } };

	/** A tenant whose owner hasn't created an organization through the API today. */
	async function fresh() {
		const home = await world();
		await since(home, 25);
		return home;
	}

	/** Makes the owner's count begin `hours` ago. */
	const since = ({ owner }: Pick<Home, "owner">, hours: number) => {
		const organizations_created_since = new Date(Date.now() - hours * 3_600_000).toISOString();
		return db.update(users).set({ organizations_created_since }).where(eq(users.id, owner.id));
	};

	test("are limited per user and day, also if requests race, and if they are deleted again", async () => {
		const home = await fresh();
		const answers = await Promise.all(Array.from({ length: 8 }, () => create(home, limit(3))));
		const created = answers.filter(({ status }) => status === 201);
		expect(created).toHaveLength(3);
		for (const answer of answers)
			if (answer.status !== 201) expect(answer).toMatchObject(throttled);
		expect((await home.ask("GET", "/api/organizations")).body.count).toBe(4);
		expect((await home.ask("GET", "/api/projects")).body.count).toBe(4);
		for (const { body } of created) await home.ask("DELETE", `/api/organizations/${body.id}`);
		const rejected = await create(home, limit(3));
		expect(rejected).toMatchObject(throttled);
		expect(cost(rejected).trips).toBe(1);
		const wait = Number(rejected.headers.get("retry-after"));
		expect(wait).toBeGreaterThan(86_300);
		expect(wait).toBeLessThanOrEqual(86_400);
		// Another user has their own limit.
		expect((await create(await fresh(), limit(3))).status).toBe(201);
		await since(home, 24);
		const later = await create(home, limit(2));
		expect(later.status).toBe(201);
		expect(cost(later).trips).toBe(2);
		expect((await create(home, limit(2))).status).toBe(201);
		expect(await create(home, limit(2))).toMatchObject(throttled);
	});

	test("are rejected if the limit is used up between the check and the write", async () => {
		const home = await fresh();
		const other = () => create(home, limit(1));
		expect(await create(home, { ...limit(1), ...racing(other) })).toMatchObject(throttled);
		expect((await home.ask("GET", "/api/organizations")).body.count).toBe(2);
	});
});
