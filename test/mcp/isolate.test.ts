import { env, exports } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { digest } from "../../src/keys/keys.ts";
import type Mcp from "../../src/mcp/server/worker.ts";
import { ending, loader } from "../support/loader.ts";
import { connect, post } from "../support/mcp.ts";
import { world } from "../support/world.ts";

const READ = {
	jsonrpc: "2.0",
	id: 1,
	method: "tools/call",
	params: { name: "read", arguments: { operationId: "listOrganizations" } },
};

type Respond = Mcp["respond"];

/** A LOADER that passes calls on, and the arguments of these calls. */
function recorder() {
	const get = vi.fn<WorkerLoader["get"]>();
	const respond = vi.fn<Respond>();
	get.mockImplementation((name, getCode) => {
		const mcp = env.LOADER.get(name, getCode).getEntrypoint<Mcp>();
		respond.mockImplementation((message, calls) => mcp.respond(message, calls));
		return Object.assign(Object.create(null), { getEntrypoint: () => ({ respond }) });
	});
	return { LOADER: loader({ get }), get, respond };
}

test("all callers share an isolate, which has no bindings and no network, and is told no key", async () => {
	const { LOADER, get, respond } = recorder();
	for (const { key, id } of [await world(), await world()]) {
		const { tool } = await connect(key, { env: { LOADER } });
		const page = await tool("read", { operationId: "listOrganizations" });
		expect(page.data.results.map((organization: { id: string }) => organization.id)).toEqual([id]);
		expect((await tool("whoami")).key.scopes).toEqual(["*"]);
		const hash = await digest(key);
		for (const [{ headers, ...message }] of respond.mock.calls) {
			const told = JSON.stringify([message, [...headers]]);
			expect(told).toContain('"scopes":["*"]');
			expect(told).toContain('"content-type"');
			for (const secret of [key, hash, "authorization"]) expect(told).not.toContain(secret);
		}
	}
	expect(new Set(get.mock.calls.map(([name]) => name)).size).toBe(1);
	const code = await get.mock.calls[0]?.[1]();
	expect(code).toMatchObject({ globalOutbound: null, limits: { cpuMs: 10_000 } });
	expect(code).not.toHaveProperty("env");
});

test.each([
	["if the isolate ends", { LOADER: loader({ get: ending("respond") }) }, "It ended."],
	["if the runtime has no LOADER", { LOADER: undefined }, "LOADER"],
])("%s, the error is one of JSON-RPC, and the reason is logged", async (_, bindings, reason) => {
	const log = vi.spyOn(console, "error").mockImplementation(() => {});
	const { key } = await world();
	// Like a runtime without this binding.
	const overrides = bindings as Partial<Env>;
	const { status, body, headers } = await post(key, READ, {}, overrides);
	expect(status).toBe(500);
	expect(body).toMatchObject({
		jsonrpc: "2.0",
		id: null,
		error: { code: -32000, message: "A server error occurred.", data: { type: "server_error" } },
	});
	const logged = log.mock.calls.join();
	expect(logged).toContain(reason);
	expect(logged).toContain(headers.get("x-request-id"));
	expect(logged).not.toContain(key);
	log.mockRestore();
});

test("the server's own file is not sent to clients", async () => {
	const { key } = await world();
	const { status } = await exports.default.fetch("https://example.com/mcp/worker.js", {
		headers: { authorization: `Bearer ${key}` },
	});
	expect(status).toBe(404);
});
