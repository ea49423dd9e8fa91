import { beforeAll, expect, inject, test } from "vitest";
import { PreconditionFailedError, Tenantry, TenantryError } from "../src/index.ts";

const url = inject("url");
const { client: key } = inject("keys");

/** The requests that a client has sent. */
function watched(options: { baseUrl?: string; key?: string } = {}) {
	const sent: { url: string; headers: Headers }[] = [];
	const tenantry = new Tenantry({
		baseUrl: url,
		key,
		...options,
		fetch(target, init) {
			sent.push({ url: target, headers: new Headers(init.headers) });
			return fetch(target, init);
		},
	});
	return { tenantry, sent };
}

const { tenantry, sent } = watched();
let organization: string;

beforeAll(async () => {
	({ id: organization } = await tenantry.organizations.create({ name: crypto.randomUUID() }));
});

test("await gives the first page of a list, for await all its items", async () => {
	const names = ["A", "B", "C", "D", "E"];
	for (const name of names) await tenantry.organizationProjects.create({ organization }, { name });
	const list = tenantry.organizationProjects.list({ organization, limit: 2 });
	const first = await list;
	expect(first.results).toHaveLength(2);
	expect(first.count).toBe(6);
	const all: string[] = [];
	for await (const { name } of list) all.push(name);
	expect(all.sort()).toEqual([...names, "Default project"].sort());
	const sizes: number[] = [];
	for await (const { results } of list.pages()) sizes.push(results.length);
	expect(sizes).toEqual([2, 2, 2]);
});

test("a list that isn't used sends no request, and one that is used twice reads its first page once", async () => {
	sent.length = 0;
	const list = tenantry.domains.list({ organization });
	expect(sent).toHaveLength(0);
	await list;
	for await (const _ of list) throw new Error("There are no domains.");
	expect(sent).toHaveLength(1);
});

test("the next page is asked for where the client's requests go, whatever host the link has", async () => {
	const { tenantry: elsewhere, sent: asked } = watched({ baseUrl: `${url}/` });
	const list = elsewhere.organizationProjects.list({ organization, limit: 1 });
	(await list).next = `http://elsewhere.example${new URL((await list).next ?? "").search}`;
	const ids = new Set<number>();
	for await (const { id } of list) ids.add(id);
	expect(ids.size).toBe(6);
	expect(asked.every(({ url: target }) => target.startsWith(`${url}/api/`))).toBe(true);
});

test("a query's values are sent as they are, and lists repeated", async () => {
	const [project] = (await tenantry.organizationProjects.list({ organization })).results;
	sent.length = 0;
	await tenantry.projectActivityLog.list({
		project: project?.id ?? "",
		limit: 5,
		activity: "a & b/c",
	});
	await tenantry.plugins.list({
		organization,
		family: ["pipeline_destinations", "pipeline_import_apps"],
	});
	expect(sent.map(({ url: target }) => new URL(target).searchParams.toString())).toEqual([
		"activity=a+%26+b%2Fc&limit=5",
		"family=pipeline_destinations&family=pipeline_import_apps",
	]);
});

test("a value can't lead a request to another path", async () => {
	sent.length = 0;
	await expect(tenantry.domains.get({ organization, id: "../members?x=" })).rejects.toMatchObject({
		status: 404,
	});
	expect(new URL(sent[0]?.url ?? "").pathname).toBe(
		`/api/organizations/${organization}/domains/..%2Fmembers%3Fx%3D`,
	);
});

test("the only id in a path needs no object", async () => {
	expect(await tenantry.organizations.get(organization)).toMatchObject({ id: organization });
	sent.length = 0;
	const members = await tenantry.members.list(organization);
	expect(members.results).toHaveLength(1);
	const [project] = (await tenantry.organizationProjects.list(organization)).results;
	const id = project?.id ?? 0;
	expect(await tenantry.projects.get(id, { maxAttempts: 1 })).toMatchObject({ id });
	const name = crypto.randomUUID();
	expect(await tenantry.projects.update(String(id), { name })).toMatchObject({ id, name });
	expect(sent.every(({ url: target }) => new URL(target).search === "")).toBe(true);
});

test("a call that needs a key says that the client has none", async () => {
	for (const options of [{ key: undefined }, { key: "" }]) {
		const error = await new Tenantry({ baseUrl: url, ...options }).organizations
			.list()
			.then(undefined, (error: unknown) => error);
		expect(error).toMatchObject({
			status: 401,
			code: "not_authenticated",
			message:
				"Authentication credentials were not provided. The client has no key: pass key to new Tenantry().",
		});
	}
	await expect(
		new Tenantry({ baseUrl: url, key: "tnt_wrong" }).organizations.list(),
	).rejects.toMatchObject({ status: 401, message: expect.not.stringContaining("no key") });
});

test("the fields of an object are parameters, and changes of others are not overwritten", async () => {
	const created = await tenantry.domains.create(
		{ organization },
		{ domain: `${crypto.randomUUID()}.example.com` },
	);
	const domain = await tenantry.domains.get({ organization, id: created.id });
	const renamed = `${crypto.randomUUID()}.example.com`;
	const other = await tenantry.domains.update({ organization, ...created }, { domain: renamed });
	expect(other.domain).toBe(renamed);
	const error = await tenantry.domains
		.update({ organization, ...domain }, { domain: "x.example.com" })
		.catch((e) => e);
	expect(error).toBeInstanceOf(PreconditionFailedError);
	expect(error).toBeInstanceOf(TenantryError);
	expect(error).toMatchObject({ status: 412, code: "precondition_failed" });
	const again = { organization, ...(await tenantry.domains.get({ organization, ...domain })) };
	expect(again.domain).toBe(renamed);
	const last = `${crypto.randomUUID()}.example.com`;
	expect(await tenantry.domains.update(again, { domain: last })).toMatchObject({ domain: last });
	await tenantry.domains.update(again, { domain: renamed }, { ifMatch: null });
	await tenantry.domains.delete(again);
	await expect(tenantry.domains.get(again)).rejects.toMatchObject({ status: 404 });
});

test("an ETag is in copies of an object, and not in its fields or JSON", async () => {
	const at = { organization };
	const created = await tenantry.domains.create(at, {
		domain: `${crypto.randomUUID()}.example.com`,
	});
	const read = await tenantry.domains.get({ ...at, ...created });
	expect(Object.keys(read).sort()).toEqual(Object.keys(created).sort());
	const change = { domain: `${crypto.randomUUID()}.example.com` };
	await tenantry.domains.update({ ...at, ...created }, change);
	await expect(tenantry.domains.update({ ...at, ...read }, change)).rejects.toThrow(
		PreconditionFailedError,
	);
	const parsed: typeof read = JSON.parse(JSON.stringify(read));
	expect(await tenantry.domains.update({ ...at, ...parsed }, change)).toMatchObject(change);
});

test("an object read as @current stays the same when another becomes current", async () => {
	const original = await tenantry.organizations.get({ id: "@current" });
	await tenantry.users.update({ user: "@me" }, { organization });
	const name = `${original.name}!`;
	expect(await tenantry.organizations.update(original, { name })).toMatchObject({
		id: original.id,
		name,
	});
	await tenantry.users.update({ user: "@me" }, { organization: original.id });
});

test("an item of a list has its parameters", async () => {
	const [project] = (await tenantry.organizationProjects.list({ organization })).results;
	if (!project) throw new Error("The organization has no project.");
	expect(await tenantry.organizationProjects.update(project, { name: "Renamed" })).toMatchObject({
		id: project.id,
		name: "Renamed",
	});
});

test("each request shows the newest state that the client has seen", async () => {
	sent.length = 0;
	const { tenantry: fresh, sent: first } = watched();
	await fresh.organizations.list();
	await fresh.organizations.list();
	expect(first[0]?.headers.has("x-d1-bookmark")).toBe(false);
	expect(first[1]?.headers.get("x-d1-bookmark")).toMatch(/./);
});

test("requests ask for the version that the types describe", async () => {
	sent.length = 0;
	await tenantry.service.get();
	expect(sent[0]?.headers.get("tenantry-version")).toMatch(/^\d{4}-\d\d-\d\d$/);
});

test("a revocation returns its signed receipt if the call asks for it", async () => {
	const create = async () =>
		(await tenantry.serviceAccounts.create({ organization }, { name: crypto.randomUUID() })).id;
	const id = await create();
	const receipt = await tenantry.serviceAccounts.delete({ organization, id }, { receipt: true });
	expect(receipt?.revoked).toEqual({ type: "service_account", id, user: id });
	expect(await tenantry.serviceAccounts.delete({ organization, id: await create() })).toBe(
		undefined,
	);
});
