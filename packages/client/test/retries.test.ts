import { afterEach, beforeAll, describe, expect, inject, test } from "vitest";
import {
	type LogEntry,
	type Options,
	PreconditionFailedError,
	Tenantry,
	TenantryError,
} from "../src/index.ts";
import { ALL, type Mistreatment, proxy } from "./support/proxy.ts";

const { retries: key } = inject("keys");
const direct = new Tenantry({ baseUrl: inject("url"), key });

type Proxy = Awaited<ReturnType<typeof proxy>>;
let open: Proxy | undefined;

afterEach(async () => {
	await open?.close();
	open = undefined;
});

/** A client behind a proxy. Requests meet these fates in turn, then nothing happens to them. */
async function behind(fates: Mistreatment[], options: Partial<Options> = {}) {
	open = await proxy(inject("url"), (n) => fates[n] ?? "forward");
	return { tenantry: new Tenantry({ baseUrl: open.url, key, ...options }), seen: open.seen };
}

const unique = () => crypto.randomUUID();

/** Runs `work` for each number below `n`, 50 at a time. */
async function several<T>(n: number, work: (i: number) => Promise<T>) {
	const results: T[] = [];
	let next = 0;
	const worker = async () => {
		for (let i = next++; i < n; i = next++) results[i] = await work(i);
	};
	await Promise.all(Array.from({ length: 50 }, worker));
	return results;
}

const namesOf = async (organization: string) => {
	const names: string[] = [];
	for await (const { name } of direct.organizationProjects.list({ organization, limit: 100 }))
		names.push(name);
	return names.sort();
};

describe("over a network that drops, delays, cuts and doubles requests and answers", () => {
	let organization: string;
	beforeAll(async () => {
		({ id: organization } = await direct.organizations.create({ name: unique() }));
	});

	test("300 creates make exactly 300 objects, and each can be changed and deleted", async () => {
		const before = (await namesOf(organization)).length;
		open = await proxy(inject("url"), () =>
			Math.random() < 0.4 ? (ALL[Math.floor(Math.random() * ALL.length)] ?? "forward") : "forward",
		);
		const tenantry = new Tenantry({ baseUrl: open.url, key, maxAttempts: 30 });
		const wanted = Array.from({ length: 300 }, (_, i) => `Project ${i}`);
		const created = await several(300, (i) =>
			tenantry.organizationProjects.create({ organization }, { name: wanted[i] ?? "" }),
		);
		expect(created.map(({ name }) => name)).toEqual(wanted);
		expect(new Set(created.map(({ id }) => id)).size).toBe(300);
		const names = await namesOf(organization);
		expect(names).toHaveLength(before + 300);
		expect(names.filter((name) => name.startsWith("Project "))).toEqual(wanted.sort());
		const fates = new Set(open.seen.map(({ fate }) => fate));
		expect(fates).toEqual(new Set(ALL));

		await several(100, async (i) => {
			const project = await tenantry.organizationProjects.get({
				organization,
				id: created[i]?.id ?? 0,
			});
			const changed = await tenantry.organizationProjects.update(project, { name: `Changed ${i}` });
			expect(changed.name).toBe(`Changed ${i}`);
			await tenantry.organizationProjects.delete(changed);
		});
		expect(await namesOf(organization)).toHaveLength(before + 200);
	});
});

test.each(ALL)("a POST to which %s happens is carried out once", async (fate) => {
	const { tenantry, seen } = await behind([fate]);
	const name = unique();
	await tenantry.organizations.create({ name });
	const found = (await direct.organizations.list({ limit: 1000 })).results;
	expect(found.filter((one) => one.name === name)).toHaveLength(1);
	expect(new Set(seen.map(({ headers }) => headers["idempotency-key"])).size).toBe(1);
});

test("a DELETE whose answer is lost succeeds", async () => {
	const { tenantry, seen } = await behind(["dropAnswer"]);
	const project = await direct.projects.create({ name: unique() });
	await tenantry.projects.delete({ id: project.id });
	expect(seen.map(({ method }) => method)).toEqual(["DELETE", "DELETE"]);
	await expect(tenantry.projects.delete({ id: project.id })).rejects.toMatchObject({ status: 404 });
});

test("a PATCH with an ETag whose answer is lost succeeds", async () => {
	const { tenantry, seen } = await behind(["forward", "dropAnswer"]);
	const { id } = await direct.projects.create({ name: "Old" });
	const project = await tenantry.projects.get({ id });
	expect(await tenantry.projects.update(project, { name: "New" })).toMatchObject({
		id,
		name: "New",
	});
	expect(seen.map(({ method }) => method)).toEqual(["GET", "PATCH", "PATCH", "GET"]);
});

test("a PATCH with an ETag whose answer is lost fails if it was refused", async () => {
	const { tenantry } = await behind(["forward", "dropAnswer"]);
	const { id } = await direct.projects.create({ name: "Old" });
	const project = await tenantry.projects.get({ id });
	await direct.projects.update({ id }, { name: "Other" });
	await expect(tenantry.projects.update(project, { name: "New" })).rejects.toThrow(
		PreconditionFailedError,
	);
	expect(await direct.projects.get({ id })).toMatchObject({ name: "Other" });
});

test("a request is tried again as often as it is allowed to", async () => {
	const { tenantry, seen } = await behind(["dropRequest", "dropRequest", "dropRequest"], {
		maxAttempts: 3,
	});
	await expect(tenantry.organizations.list()).rejects.toMatchObject({
		type: "connection_error",
		code: "network",
		status: 0,
	});
	expect(seen).toHaveLength(3);
	await tenantry.organizations.list();
	expect(seen).toHaveLength(4);
});

test("a refusal that another try can't change is not tried again", async () => {
	const { tenantry, seen } = await behind([]);
	const error = await tenantry.projects.create({ name: "" }).catch((error: unknown) => error);
	expect(error).toBeInstanceOf(TenantryError);
	expect(error).toMatchObject({
		type: "validation_error",
		code: "blank",
		detail: "This field may not be blank.",
		attr: "name",
		status: 400,
		requestId: expect.stringMatching(/./),
	});
	expect(seen).toHaveLength(1);
});

test("accepting an invite, which knows no Idempotency-Key, is not tried again when its answer is lost", async () => {
	const { tenantry, seen } = await behind(["dropAnswer"]);
	await expect(tenantry.invites.accept({ token: "unknown" })).rejects.toMatchObject({
		code: "network",
	});
	expect(seen).toHaveLength(1);
});

test("what is logged has no ids, values or secrets", async () => {
	const entries: LogEntry[] = [];
	const { tenantry } = await behind(["refuse"], { log: (entry) => entries.push(entry) });
	const { id } = await tenantry.organizations.create({ name: "Confidential" });
	await tenantry.organizations.get({ id });
	await tenantry.invites.preview({ token: "a-secret-token" }).catch(() => {});
	expect(entries.map(({ call, attempt, status }) => [call, attempt, status])).toEqual([
		["organizations.create", 1, 503],
		["organizations.create", 2, 201],
		["organizations.get", 1, 200],
		["invites.preview", 1, 404],
	]);
	expect(entries[2]?.route).toBe("GET /api/organizations/{id}");
	for (const secret of [key, id, "a-secret-token", "Confidential"])
		expect(JSON.stringify(entries)).not.toContain(secret);
});
