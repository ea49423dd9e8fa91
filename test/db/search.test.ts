import { eq } from "drizzle-orm";
import { v7 } from "uuid";
import { expect, test } from "vitest";
import { organizationId } from "../../src/db/schema/organizations.ts";
import { members, projectMembers } from "../../src/db/schema/people.ts";
import { pluginConfigs, plugins } from "../../src/db/schema/plugins.ts";
import { newOrganization } from "../../src/organizations/organizations/queries.ts";
import { needles } from "../support/search_texts.ts";
import { call, db, furnished, join, keyFor, person, world } from "../support/world.ts";
import { testSearches } from "./search.ts";

testSearches(needles(30).filter((_, i) => i % 10 === 0));

test("a search in domains and invites knows new names, and no deleted ones", async () => {
	const { here } = await world();
	const count = async (list: string, search: string) =>
		(await here("GET", `/${list}?search=${search}`)).body.count;
	const name = `qqx-${v7()}.example.com`;
	const { body } = await here("POST", "/domains", { body: { domain: name } });
	expect(await count("domains", "QQX-")).toBe(1);
	await here("PATCH", `/domains/${body.id}`, { body: { domain: `new-${name}` } });
	expect(await count("domains", "new-qqx")).toBe(1);
	await here("DELETE", `/domains/${body.id}`);
	expect(await count("domains", "qqx")).toBe(0);
	const { body: invite } = await here("POST", "/invites", {
		body: { target_email: `ada@${name}` },
	});
	expect(await count("invites", "ADA@Q")).toBe(1);
	expect(await count("invites", "bob")).toBe(0);
	await here("DELETE", `/invites/${invite.id}`);
	expect(await count("invites", "ada")).toBe(0);
});

test("a search finds nothing of an organization whose id ends like one's own", async () => {
	const [one, other] = [await world(), await world()];
	const twin = other.id.slice(0, -6) + one.id.slice(-6);
	const { email, id: user_id } = other.owner;
	const row = { uuid: twin, name: "Twin", plugins_access_level: 9 };
	await db.batch(newOrganization(db, { user_id, email }, row).changes);
	const domain = `qqz-${v7()}.example.com`;
	const target_email = `qqz-${v7()}@example.com`;
	const member = await person({ first_name: "Qqzoe" });
	await db
		.insert(members)
		.values({ organization_id: organizationId(twin), user_id: member.id, level: 1 });
	const theirs = { key: other.key };
	const at = `/api/organizations/${twin}`;
	await call("POST", `${at}/domains`, { ...theirs, body: { domain } });
	await call("POST", `${at}/invites`, { ...theirs, body: { target_email, send_email: false } });
	for (const list of ["domains", "invites", "members"]) {
		expect([list, (await call("GET", `${at}/${list}?search=qqz`, theirs)).body.count]).toEqual([
			list,
			1,
		]);
		expect([list, (await one.here("GET", `/${list}?search=qqz`)).body.count]).toEqual([list, 0]);
	}
});

test("a search in projects finds those that the caller sees and its key reaches, in all of its organizations", async () => {
	const home = await world();
	const other = await world();
	const make = async (of: typeof home, name: string, access_control = false) =>
		(await of.here("POST", "/projects", { body: { name, access_control } })).body.id;
	const open = await make(home, "Qqx open");
	const hidden = await make(home, "Qqx hidden", true);
	const mine = await make(home, "Qqx mine", true);
	const elsewhere = await make(other, "Qqx elsewhere");
	const member = await join(home.id, 1);
	await db.insert(projectMembers).values({
		project_id: mine,
		organization_id: organizationId(home.id),
		user_id: member.id,
		level: 1,
	});
	const find = async (path: string, key: string, search = "qqx") => {
		const { body } = await call("GET", `${path}?search=${search}`, { key });
		expect(body.count).toBe(body.results.length);
		return body.results.map(({ id }: { id: number }) => id);
	};
	const all = "/api/projects";
	const here = `/api/organizations/${home.id}/projects`;
	expect(await find(here, home.key)).toEqual([mine, hidden, open]);
	expect(await find(here, member.key)).toEqual([mine, open]);
	expect(await find(all, member.key)).toEqual([mine, open]);
	expect(await find(all, other.key)).toEqual([elsewhere]);
	await db
		.insert(members)
		.values({ organization_id: organizationId(other.id), user_id: member.id, level: 1 });
	expect((await find(all, member.key)).toSorted()).toEqual([open, mine, elsewhere].toSorted());
	expect(await find(all, (await person()).key)).toEqual([]);
	expect(await find(all, await keyFor(member.id, { scoped_projects: [open] }))).toEqual([open]);
	expect(await find(all, await keyFor(member.id, { scoped_organizations: [other.id] }))).toEqual([
		elsewhere,
	]);
	await home.ask("PATCH", `/api/projects/${mine}`, { body: { name: "Renamed" } });
	expect(await find(here, member.key)).toEqual([open]);
	await home.ask("PATCH", `/api/projects/${open}`, { body: { access_control: true } });
	expect(await find(here, member.key)).toEqual([]);
	expect(await find(here, member.key, "renam")).toEqual([mine]);
	await home.ask("DELETE", `/api/projects/${mine}`);
	expect(await find(here, home.key, "renam")).toEqual([]);
});

/** Inserts an enabled config of the plugin. */
const configure = (organization_id: string, project_id: number, plugin_id: number) =>
	db.insert(pluginConfigs).values({
		organization_id: organizationId(organization_id),
		project_id,
		plugin_id,
		enabled: true,
		order: 1,
	});

test("a search in plugins finds global ones and those that the organization uses, by their new names, and no deleted ones", async () => {
	const [home, other] = [await furnished(), await furnished()];
	const names = async (needle: string) =>
		(await home.here("GET", `/plugins?search=${needle}`)).body.results.map(
			({ name }: { name: string }) => name,
		);
	const make = async (values: Partial<typeof plugins.$inferInsert>) => {
		const [row] = await db
			.insert(plugins)
			.values({
				organization_id: organizationId(other.id),
				plugin_type: "source",
				capabilities: {},
				...values,
			})
			.returning({ id: plugins.id });
		return row?.id ?? 0;
	};
	const global = await make({ name: "Qqx global", is_global: true });
	const used = await make({ name: "Qqx used" });
	await make({ name: "Qqx hidden" });
	await configure(home.id, home.project, used);
	expect(await names("qqx")).toEqual(["Qqx used", "Qqx global"]);
	await db.update(plugins).set({ name: "Renamed" }).where(eq(plugins.id, global));
	expect(await names("qqx")).toEqual(["Qqx used"]);
	expect(await names("renam")).toEqual(["Renamed"]);
	await db.update(plugins).set({ is_global: false }).where(eq(plugins.id, global));
	expect(await names("renam")).toEqual([]);
	await db.update(plugins).set({ is_global: true }).where(eq(plugins.id, global));
	expect(await names("renam")).toEqual(["Renamed"]);
	await db.delete(plugins).where(eq(plugins.id, global));
	expect(await names("renam")).toEqual([]);
});

test("configs are in the lists of the families that their plugin has now", async () => {
	const { here, id, project, destination } = await furnished();
	const configs = async (family: string) =>
		(await here("GET", `/${family}/exports_unsubscribe_configs`)).body;
	await configure(id, project, destination);
	const [before] = (await configs("pipeline_destinations")).results;
	expect(before.plugin).toBe(destination);
	expect((await configs("pipeline_import_apps")).results).toEqual([]);
	const both = { methods: ["onEvent"], scheduled_tasks: ["runEveryHour"] };
	await db.update(plugins).set({ capabilities: both }).where(eq(plugins.id, destination));
	for (const family of ["pipeline_destinations", "pipeline_import_apps"]) {
		const { count, results } = await configs(family);
		expect({ family, ids: results.map(({ id }: { id: number }) => id), count }).toEqual({
			family,
			ids: [before.id],
			count: 1,
		});
	}
	await db.update(plugins).set({ capabilities: {} }).where(eq(plugins.id, destination));
	expect((await configs("pipeline_destinations")).count).toBe(0);
});

test("a search below an organization that doesn't exist is rejected like any other request", async () => {
	const { key } = await person();
	for (const id of ["ab", "", "x".repeat(200), v7()].map((id) => id || "%20"))
		for (const list of ["domains", "invites", "members", "plugins", "projects"])
			expect([
				id,
				list,
				(await call("GET", `/api/organizations/${id}/${list}?search=x`, { key })).status,
			]).toEqual([id, list, 404]);
	for (const list of ["domains", "plugins", "projects"])
		expect([
			list,
			(await call("GET", `/api/organizations/@current/${list}?search=x`, { key })).status,
		]).toEqual([list, 404]);
});
