import { env } from "cloudflare:workers";
import { describe, expect, test, vi } from "vitest";
import { connect, post } from "../support/mcp.ts";
import { furnished, join, keyFor, world } from "../support/world.ts";

const CURRENT = { organization_id: "@current" };

const PING = { jsonrpc: "2.0", id: 1, method: "ping" };

describe("read", () => {
	test("answers with a page, and with the arguments for the next one", async () => {
		const { key, id } = await world();
		for (let i = 0; i < 4; i++) await join(id, 1);
		const { tool } = await connect(key);
		const seen: string[] = [];
		let next: Record<string, unknown> | null = {
			operationId: "listMembers",
			parameters: { ...CURRENT, limit: 2 },
		};
		while (next) {
			const page = await tool("read", next);
			expect(Object.keys(page.data)).toEqual(["count", "results"]);
			expect(page.data.count).toBe(5);
			seen.push(...page.data.results.map((member: { id: string }) => member.id));
			next = page.next;
		}
		expect(new Set(seen).size).toBe(5);
		expect(seen).toHaveLength(5);
	});

	test("keeps a filter with several values on the next page", async () => {
		const { key, destination, frontend } = await furnished();
		const { tool } = await connect(key);
		const family = ["pipeline_destinations", "pipeline_frontend_apps"];
		const parameters = { ...CURRENT, limit: 1, family };
		const first = await tool("read", { operationId: "listPlugins", parameters });
		const second = await tool("read", first.next);
		expect(second.next).toBeNull();
		const ids = [first, second].map(({ data }) => data.results[0].id);
		expect(ids.sort()).toEqual([destination, frontend].sort());
	});

	test("cuts a page that is too long, and goes on after it", async () => {
		const { key, id, here } = await world();
		const icon = `data:image/png;base64,${"A".repeat(20_000)}`;
		for (let i = 0; i < 5; i++)
			await here("POST", "/pipeline_destinations", { body: { name: `Plugin ${i}`, icon } });
		const { tool } = await connect(key);
		const names: string[] = [];
		let next: Record<string, unknown> | null = {
			operationId: "listDestinations",
			parameters: { organization_id: id },
		};
		let responses = 0;
		while (next) {
			const page = await tool("read", next);
			expect(page.text.length).toBeLessThan(51_000);
			names.push(...page.data.results.map((plugin: { name: string }) => plugin.name));
			next = page.next;
			responses += 1;
		}
		expect(names.sort()).toEqual([0, 1, 2, 3, 4].map((i) => `Plugin ${i}`));
		expect(responses).toBe(3);
	});

	test("follows the feed, and goes on after what fits into an answer", async () => {
		const { key, here } = await world();
		const icon = `data:image/png;base64,${"A".repeat(20_000)}`;
		const { body } = await here("POST", "/pipeline_destinations", { body: { name: "P" } });
		for (let i = 0; i < 4; i++)
			await here("PATCH", `/pipeline_destinations/${body.id}`, { body: { icon: `${icon}${i}` } });
		const { tool } = await connect(key);
		const whole = (await here("GET", "/events")).body;
		const seen: string[] = [];
		let responses = 0;
		let after: string | null = null;
		let next: Record<string, unknown> | null = {
			operationId: "listFeedEvents",
			parameters: { ...CURRENT, limit: 3 },
		};
		while (next) {
			const page = await tool("read", next);
			seen.push(...page.data.results.map((event: { id: string }) => event.id));
			expect(page.data.after).toBe(seen.at(-1));
			({ next } = page);
			({ after } = page.data);
			responses += 1;
		}
		expect(seen).toEqual(whole.results.map((event: { id: string }) => event.id));
		expect(after).toBe(whole.after);
		expect(responses).toBeGreaterThan(2);
	});

	test("shows at least the change whose bookmark it is given", async () => {
		const { key } = await world();
		const withSession = vi.fn((start: string) => env.DB.withSession(start));
		const DB = Object.assign(Object.create(env.DB), { withSession });
		const { tool } = await connect(key, { env: { DB } });
		const body = { name: "New" };
		const made = await tool("change", { operationId: "createOrganization", body, confirm: true });
		const sent = { operationId: "getOrganization", parameters: { id: made.data.id } };
		await tool("read", { ...sent, bookmark: made.bookmark });
		expect(withSession).toHaveBeenLastCalledWith(made.bookmark);
		await tool("read", sent);
		expect(withSession).toHaveBeenLastCalledWith("first-unconstrained");
	});

	test("divides an object that is too long, and keeps every character", async () => {
		const { key, here } = await world();
		const long = { description: "長い文".repeat(900), icon: "long ü ".repeat(8000).trim() };
		const { body } = await here("POST", "/pipeline_destinations", {
			body: { name: "Long", ...long },
		});
		expect(body).toMatchObject(long);
		const { tool } = await connect(key);
		const sent = { operationId: "getDestination", parameters: { ...CURRENT, id: body.id } };
		const first = await tool("read", sent);
		expect(first.hint).toContain('"from": 50000');
		const second = await tool("read", { ...sent, from: 50_000 });
		expect(JSON.parse(first.part + second.part)).toEqual(body);
	});

	test("keeps every digit of a number", async () => {
		const { key, project } = await world();
		const text = JSON.stringify({
			...PING,
			method: "tools/call",
			params: {
				name: "change",
				arguments: { operationId: "ingestEvents", parameters: { project_id: project }, body: [] },
			},
		}).replace(
			'"body":[]',
			'"body":[{"event":"e","distinct_id":"a","properties":{"n":12345678901234567890.10}}]',
		);
		const { body } = await post(key, text);
		expect(body.result.content[0].text).toContain("12345678901234567890.10");
	});
});

describe("change", () => {
	test("without confirm it changes nothing, and says what it would do", async () => {
		const { key, here } = await world();
		const { tool } = await connect(key);
		const sent = {
			operationId: "createOrganizationProject",
			parameters: CURRENT,
			body: { name: "Website" },
		};
		const before = (await here("GET", "/projects")).body.count;
		const preview = await tool("change", sent);
		expect(preview).toMatchObject({
			isError: false,
			changed: false,
			would: {
				method: "POST",
				path: "/api/organizations/@current/projects",
				body: { name: "Website" },
			},
			allowed: true,
		});
		expect(await tool("change", { ...sent, confirm: false })).toMatchObject({ changed: false });
		expect((await here("GET", "/projects")).body.count).toBe(before);
		const done = await tool("change", preview.confirmed);
		expect(done).toMatchObject({ status: 201, data: { name: "Website" } });
		const again = await tool("change", preview.confirmed);
		expect(again).toMatchObject({ status: 201, replayed: true, data: { id: done.data.id } });
		expect((await here("GET", "/projects")).body.count).toBe(before + 1);
	});

	test("deletes, and leaves the entry in the activity log", async () => {
		const { key, id, domain } = await furnished();
		const { tool } = await connect(key);
		const parameters = { organization_id: id, id: domain };
		expect(
			await tool("change", { operationId: "deleteDomain", parameters, confirm: true }),
		).toMatchObject({ status: 204, data: null });
		const { data } = await tool("read", { operationId: "listActivity", parameters: CURRENT });
		expect(data.results[0]).toMatchObject({ activity: "deleted", item_id: domain });
	});

	test("a new key's value is in the answer to the call that made it, and in no other", async () => {
		const { key } = await world();
		const { tool } = await connect(key);
		const log = vi.spyOn(console, "log");
		const { data } = await tool("change", {
			operationId: "createPersonalApiKey",
			body: { label: "New", scopes: ["user:read"] },
			confirm: true,
		});
		expect(data.value).toMatch(/^tnt_/);
		const keys = await tool("read", { operationId: "listPersonalApiKeys" });
		expect(keys.text).not.toContain(data.value);
		expect(JSON.stringify(log.mock.calls)).not.toContain(data.value);
		const other = await connect(data.value);
		expect(await other.tool("whoami")).toMatchObject({ key: { scopes: ["user:read"] } });
	});

	test("takes a body of 500 KB, and rejects one of more than 1 MiB", async () => {
		const { key, project } = await world();
		const { tool } = await connect(key);
		const sent = (length: number) => ({
			operationId: "ingestEvents",
			parameters: { project_id: project },
			body: [{ event: "large", distinct_id: "a", properties: { text: "ü".repeat(length) } }],
			confirm: true,
		});
		expect(await tool("change", sent(250_000))).toMatchObject({ status: 200 });
		await expect(tool("change", sent(600_000))).rejects.toThrow("larger than 1048576 bytes");
	});
});

test("whoami works without a scope", async () => {
	const { owner } = await world();
	const { tool } = await connect(await keyFor(owner.id, { scopes: ["organization:read"] }));
	expect(await tool("whoami")).toMatchObject({
		isError: false,
		user: null,
		key: { scopes: ["organization:read"] },
	});
});
