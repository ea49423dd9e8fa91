import { expect, test } from "vitest";
import { Tenantry } from "../src/index.ts";

const SERVICE = "https://tenantry.test";
const organization = "01a1fee4-ac61-7a85-9f31-6f4a5b7c8d99";

const sent: string[] = [];

/** A client that sends nothing, as all of its calls are wrong. */
const tenantry = new Tenantry({
	baseUrl: SERVICE,
	async fetch(target) {
		sent.push(target);
		return Response.json({});
	},
});

test.each([".", ".."])("the id %j can't lead a request to the object above", async (id) => {
	await expect(tenantry.domains.delete({ organization, id })).rejects.toThrow(
		`domains.delete can't have "${id}" as the parameter "id".`,
	);
	expect(sent).toEqual([]);
});

test.each(["null", '""', "{}"])("the id %s is rejected before anything is sent", async (json) => {
	const id: string = JSON.parse(json);
	await expect(tenantry.domains.get({ organization, id })).rejects.toThrow(
		'domains.get needs the parameter "id".',
	);
	expect(sent).toEqual([]);
});

test("an id without an object is rejected if there are others, or if it is none", async () => {
	const calls: Record<string, Record<string, (id: unknown) => Promise<unknown>>> = Object(tenantry);
	for (const [resource, method, id, name] of [
		["domains", "get", organization, "organization"],
		["projects", "get", undefined, "id"],
		["projects", "get", "", "id"],
	] as const)
		await expect(calls[resource]?.[method]?.(id)).rejects.toThrow(
			`${resource}.${method} needs the parameter "${name}".`,
		);
	await expect(tenantry.projects.get("..")).rejects.toThrow(TypeError);
	expect(sent).toEqual([]);
});

test.each(["undefined", '""', '"localhost:8787"', "null"])(
	"a client whose baseUrl is %s says what it needs",
	(value) => {
		const baseUrl = (value === "undefined" ? undefined : JSON.parse(value)) as string;
		const given = value === '"localhost:8787"' ? ', not "localhost:8787"' : "";
		const error = `Tenantry needs baseUrl, the URL of the service, such as https://tenantry.example.com${given}.`;
		expect(() => new Tenantry({ baseUrl })).toThrow(new TypeError(error));
	},
);

test("a client without options says what it needs", () => {
	const Untyped: new () => Tenantry = Object(Tenantry);
	expect(() => new Untyped()).toThrow("Tenantry needs baseUrl");
});

test("a later response with an older bookmark doesn't replace a newer one", async () => {
	const bookmarks = ["b", "a", "c"];
	const asked: (string | null)[] = [];
	const client = new Tenantry({
		baseUrl: SERVICE,
		async fetch(_, { headers }) {
			asked.push(new Headers(headers).get("x-d1-bookmark"));
			return new Response("", { headers: { "x-d1-bookmark": bookmarks[asked.length - 1] ?? "" } });
		},
	});
	for (const _ of [1, 2, 3, 4]) await client.health.get();
	expect(asked).toEqual([null, "b", "b", "c"]);
});

test("a call can be aborted, also while it waits to try again", async () => {
	const controller = new AbortController();
	const failing = new Tenantry({
		baseUrl: SERVICE,
		fetch: async () => new Response(null, { status: 503, headers: { "retry-after": "3600" } }),
		callTimeout: 7_200_000,
		log: () => controller.abort(new Error("Enough.")),
	});
	await expect(failing.health.get({ signal: controller.signal })).rejects.toThrow("Enough.");
	await expect(failing.health.get({ signal: controller.signal })).rejects.toThrow("Enough.");
});

test("a try and a call have time limits", async () => {
	let tries = 0;
	const silent = new Tenantry({
		baseUrl: SERVICE,
		fetch: (_, { signal }) => {
			tries += 1;
			return new Promise((_resolve, reject) =>
				signal?.addEventListener("abort", () => reject(signal.reason)),
			);
		},
	});
	await expect(silent.health.get({ timeout: 10, maxAttempts: 2 })).rejects.toMatchObject({
		type: "connection_error",
		code: "timeout",
		detail: "No response in 10 ms.",
	});
	expect(tries).toBe(2);
	await expect(silent.health.get({ callTimeout: 20 })).rejects.toMatchObject({
		code: "timeout",
		detail: "No response in 20 ms.",
	});
});

test("an answer that isn't the service's is an error that says so", async () => {
	const clientOf = (answer: Response) =>
		new Tenantry({ baseUrl: SERVICE, fetch: async () => answer });
	const page = new Response("<h1>Gone</h1>", { status: 410, statusText: "Gone" });
	await expect(clientOf(page).health.get()).rejects.toMatchObject({
		type: "http_error",
		code: "410",
		detail: "410 Gone",
	});
	await expect(clientOf(new Response("{}")).organizations.list()).rejects.toMatchObject({
		code: "unexpected_response",
	});
});
