import { env } from "cloudflare:workers";
import * as oauth from "oauth4webapi";
import { v7 } from "uuid";
import { expect, test, vi } from "vitest";
import { seal } from "../../../src/auth/secrets.ts";
import { world } from "../../support/world.ts";
import {
	codeFor,
	exchange,
	options,
	preview,
	rejected,
	request,
	secretsIn,
	send,
	server,
	statusWith,
} from "./support.ts";

const DAY_MS = 86_400_000;
const CALLBACK = "https://notes.example/callback";

/** Registers an app with a client library. */
async function register(metadata: Partial<oauth.Client> = {}) {
	const asked = { client_name: "Notes", redirect_uris: [CALLBACK], ...metadata };
	const response = await oauth.dynamicClientRegistrationRequest(await server(), asked, options);
	return oauth.processDynamicClientRegistrationResponse(response);
}

const post = (body: BodyInit, headers: HeadersInit = {}) =>
	send("POST", "/oauth/register", body, headers);

const errorOf = async (body: unknown) => {
	const response = await post(JSON.stringify(body));
	const { error } = await response.json<{ error: string }>();
	return [response.status, error, response.headers.get("cache-control")];
};

test("an app that registers itself can ask for access for 90 days", async () => {
	const { key } = await world();
	const { client_id, ...registered } = await register({ token_endpoint_auth_method: "none" });
	expect(registered).toMatchObject({
		client_name: "Notes",
		redirect_uris: [CALLBACK],
		token_endpoint_auth_method: "none",
		client_id_issued_at: expect.any(Number),
	});
	const asked = await request(client_id, { redirect_uri: CALLBACK });
	expect((await preview({ key }, asked.parameters)).body).toMatchObject({
		client_id,
		client_name: "Notes",
		client_host: null,
		client_organization: null,
		redirect_host: "notes.example",
	});
	const { access } = secretsIn(await exchange(await codeFor({ key }, asked), asked));
	expect(await statusWith(access)).toBe(200);
	vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 91 * DAY_MS });
	expect(await preview({ key }, asked.parameters)).toMatchObject(rejected("client_id"));
	vi.useRealTimers();
});

test("an id that the service didn't give, or gave for something else, is no app", async () => {
	const { key } = await world();
	const { client_id } = await register();
	const other = await seal(env, JSON.stringify({ redirect_uris: [CALLBACK] }), {
		table: "webhooks",
		row: v7(),
		field: "secret",
	});
	const changed = client_id.replace(/.$/, (last) => (last === "A" ? "B" : "A"));
	for (const id of [other, changed.replace(/:(.)/, ":x"), `${client_id}A`]) {
		const asked = await request(id, { redirect_uri: CALLBACK });
		expect(await preview({ key }, asked.parameters)).toMatchObject(rejected("client_id"));
	}
	const asked = await request(client_id, { redirect_uri: "https://evil.example/callback" });
	expect(await preview({ key }, asked.parameters)).toMatchObject(rejected("redirect_uri"));
});

test("wrong metadata has the errors of the protocol, and other metadata is ignored", async () => {
	for (const redirect_uris of [
		undefined,
		[],
		"https://notes.example/callback",
		["javascript:alert(1)"],
		["http://notes.example/callback"],
		["https://a:b@notes.example/"],
		["https://notes.example/#x"],
		[`https://notes.example/${"x".repeat(600)}`],
		Array.from({ length: 30 }, (_, i) => `https://notes.example/callback/${i}`),
	])
		expect(await errorOf({ client_name: "Notes", redirect_uris })).toEqual([
			400,
			"invalid_redirect_uri",
			"no-store",
		]);
	expect(await errorOf({ client_name: 1, redirect_uris: [CALLBACK] })).toEqual([
		400,
		"invalid_client_metadata",
		"no-store",
	]);
	expect((await post("{")).status).toBe(400);
	expect((await post(`"${"x".repeat(2 ** 20)}"`)).status).toBe(413);
	const { client_name } = await register({
		client_name: "ノート <b>",
		logo_uri: "https://x.example/",
	});
	expect(client_name).toBe("ノート <b>");
});

test("a network registers ten apps a minute", async () => {
	const headers = { "cf-connecting-ip": "2001:db8::1" };
	const body = JSON.stringify({ redirect_uris: [CALLBACK] });
	const statuses: number[] = [];
	while (!statuses.includes(429) && statuses.length < 30)
		statuses.push((await post(body, headers)).status);
	expect(statuses.filter((status) => status === 201).length).toBeGreaterThanOrEqual(10);
	expect(statuses.at(-1)).toBe(429);
	const neighbour = { "cf-connecting-ip": "2001:db8::2" };
	expect((await post(body, neighbour)).status).toBe(429);
});
