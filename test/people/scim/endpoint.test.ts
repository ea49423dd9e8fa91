import { eq } from "drizzle-orm";
import { v7 } from "uuid";
import { expect, test, vi } from "vitest";
import { domains } from "../../../src/db/schema/organizations.ts";
import { scimRequests, scimTokens } from "../../../src/db/schema/scim.ts";
import { newValue } from "../../../src/keys/keys.ts";
import { ERROR, provisioned, send } from "../../support/scim.ts";
import { eventually } from "../../support/time.ts";
import { call, db, times } from "../../support/world.ts";

type Home = Awaited<ReturnType<typeof provisioned>>;

type Attack = { headers?: Record<string, string>; token?: string };

const setTokens = (home: Home, change: Partial<typeof scimTokens.$inferInsert>) =>
	db.update(scimTokens).set(change).where(eq(scimTokens.domain_id, home.domain_id));

const cookies = (value: string) => ({ cookie: `tenantry=${value}; __Host-tenantry=${value}` });

/** Each attacker: what the request has instead of a valid token. */
const ATTACKERS: [string, (home: Home) => Attack | Promise<Attack>, number?][] = [
	["nothing", () => ({})],
	["an API key of the owner", ({ key }) => ({ token: key })],
	["an unknown key", () => ({ token: newValue() })],
	["an unknown token", () => ({ token: newValue("tnt_scim_") })],
	["a token with a wrong checksum", ({ token }) => ({ token: `${token.slice(0, -1)}_` })],
	["another organization's token", async () => ({ token: (await provisioned()).token })],
	[
		"the token of another domain of the same organization",
		async (home) => ({ token: (await provisioned(home)).token }),
	],
	[
		"a revoked token",
		async ({ here, at, token }) => {
			const { body } = await here("GET", `${at}/tokens`);
			await here("DELETE", `${at}/tokens/${body.results[0].id}`);
			return { token };
		},
	],
	[
		"an expired token",
		async (home) => {
			await setTokens(home, { expires_at: new Date(Date.now() - 1000).toISOString() });
			return home;
		},
	],
	[
		"the token of a deleted domain",
		async ({ here, domain_id, token }) => {
			await here("DELETE", `/domains/${domain_id}`);
			return { token };
		},
	],
	[
		"the token of a domain that isn't verified any more",
		async ({ domain_id, token }) => {
			await db.update(domains).set({ verified_at: null }).where(eq(domains.id, domain_id));
			return { token };
		},
		403,
	],
	["a cookie with a key", ({ key }) => ({ headers: cookies(key) })],
	["a cookie with the token", ({ token }) => ({ headers: cookies(token) })],
	[
		"the token as a password",
		({ token }) => ({ headers: { authorization: `Basic ${btoa(`scim:${token}`)}` } }),
	],
	[
		"the token with another scheme",
		({ token }) => ({ headers: { authorization: `Token ${token}` } }),
	],
];

test.each(ATTACKERS)(
	"with %s, every request is rejected in SCIM's own form",
	async (_, attack, status = 401) => {
		const home = await provisioned();
		const person = await home.add();
		const { headers = {}, token } = await attack(home);
		const user = `/Users/${person.id}`;
		const active = { Operations: [{ op: "replace", path: "active", value: false }] };
		for (const [method, path, body] of [
			["GET", "/Schemas"],
			["GET", "/Users?filter=bad"],
			["POST", "/Users", { userName: home.address() }],
			["PUT", user, { userName: person.userName, active: false }],
			["PATCH", user, active],
			["PATCH", user, { Operations: 1 }],
			["DELETE", user],
			["POST", "/Bulk", {}],
		] as const) {
			const options = { headers, ...(token && { token }), ...(body && { body }) };
			const response = await send(home.domain_id, method, path, options);
			expect([method, path, response.status]).toEqual([method, path, status]);
			expect(response.body).toMatchObject({ schemas: [ERROR], status: String(status) });
			expect(response.headers.get("content-type")).toBe("application/scim+json");
			if (status === 401) expect(response.headers.get("www-authenticate")).toBe("Bearer");
		}
		expect((await home.member(person.userName)).user.uuid).toBe(person.id);
	},
);

test("a token isn't an API key", async () => {
	const { token } = await provisioned();
	expect(token).toMatch(/^tnt_scim_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}$/);
	expect((await call("GET", "/api/users/@me", { key: token })).status).toBe(401);
});

test("a token is shown once; replaced, it works for a day; there are never more than two", async () => {
	const home = await provisioned();
	const second = await home.here("POST", `${home.at}/tokens`);
	expect(second.body.value).toMatch(/^tnt_scim_/);
	const { results } = (await home.here("GET", `${home.at}/tokens`)).body;
	expect(results).toMatchObject([
		{ id: second.body.id, value: null, expires_at: null },
		{ value: null, mask_value: `tnt_scim_…${home.token.slice(-4)}` },
	]);
	const left = Date.parse(results[1].expires_at) - Date.now();
	expect(left).toBeGreaterThan(23 * 3_600_000);
	expect(left).toBeLessThanOrEqual(24 * 3_600_000);
	for (const token of [home.token, second.body.value])
		expect((await home.scim("GET", "/Users", { token })).status).toBe(200);
	expect((await home.here("POST", `${home.at}/tokens`)).status).toBe(400);
	await home.here("DELETE", `${home.at}/tokens/${results[1].id}`);
	expect((await home.scim("GET", "/Users")).status).toBe(401);
	expect((await home.here("POST", `${home.at}/tokens`)).status).toBe(201);
	const [stored] = await db.select().from(scimTokens).where(eq(scimTokens.id, second.body.id));
	expect(JSON.stringify(stored)).not.toContain(second.body.value);
});

test("an unverified domain gets no token", async () => {
	const home = await provisioned();
	await db.update(domains).set({ verified_at: null }).where(eq(domains.id, home.domain_id));
	const { status, body } = await home.here("POST", `${home.at}/tokens`);
	expect([status, body.code]).toEqual([400, "verification_required"]);
});

test("unknown paths, methods and bodies are rejected in SCIM's own form", async () => {
	const home = await provisioned();
	const person = await home.add();
	const user = `/Users/${person.id}`;
	const active = { op: "replace", path: "active", value: true };
	for (const [method, path, body, status, scimType] of [
		["GET", "/nowhere", undefined, 404],
		["GET", "/Users/nobody", undefined, 404],
		["GET", "/Schemas/nothing", undefined, 404],
		["DELETE", "/Users", undefined, 405],
		["POST", "/ServiceProviderConfig", {}, 405],
		["POST", "/Bulk", {}, 501],
		...["/.search", "/Users/.search", "/Groups/.search"].map(
			(path) => ["POST", path, {}, 501] as const,
		),
		...["GET", "POST", "PUT", "PATCH", "DELETE"].map(
			(method) => [method, "/Me", undefined, 501] as const,
		),
		["POST", "/Users", "{", 400, "invalidSyntax"],
		["POST", "/Users", "[]", 400, "invalidSyntax"],
		["POST", "/Users", { userName: 1 }, 400, "invalidValue"],
		["POST", "/Users", { userName: home.address(), active: "maybe" }, 400, "invalidValue"],
		["PATCH", user, {}, 400, "invalidValue"],
		["PATCH", user, { Operations: [] }, 400, "invalidValue"],
		["PATCH", user, { Operations: [{ op: "move" }] }, 400, "invalidValue"],
		["PATCH", user, { Operations: [{ op: "remove" }] }, 400, "invalidPath"],
		["PATCH", user, { Operations: [{ op: "add", path: "a b", value: 1 }] }, 400, "invalidPath"],
		["PATCH", user, { Operations: [{ op: "replace", path: "active" }] }, 400, "invalidValue"],
		["PATCH", user, { Operations: [{ op: "replace", value: [1] }] }, 400, "invalidValue"],
		[
			"PATCH",
			user,
			{ Operations: [{ op: "remove", path: 'name[value eq "1"]' }] },
			400,
			"invalidPath",
		],
		["PATCH", user, { Operations: [{ op: "remove", path: "name[type pr]" }] }, 400, "invalidPath"],
		["PATCH", user, { Operations: [...Array(101).fill(active), 1] }, 400, "invalidValue"],
		["POST", "/Groups", {}, 400, "invalidValue"],
		["GET", "/Users?startIndex=100001", undefined, 400, "invalidValue"],
		["GET", "/Users?startIndex=9007199254740993", undefined, 400, "invalidValue"],
		["GET", `/Users?startIndex=${"9".repeat(400)}`, undefined, 400, "invalidValue"],
		["GET", "/Users?startIndex=1.5", undefined, 400, "invalidValue"],
		["GET", "/Groups?count=all", undefined, 400, "invalidValue"],
	] as const) {
		const response = await home.scim(method, path, body === undefined ? {} : { body });
		expect([method, path, response.status, response.body.scimType]).toEqual([
			method,
			path,
			status,
			scimType,
		]);
		expect(response.body).toMatchObject({
			schemas: [ERROR],
			status: String(status),
			detail: expect.any(String),
		});
	}
});

test.each([
	["__proto__.polluted"],
	["constructor.prototype.polluted"],
	["name.__proto__.polluted"],
	["members[__proto__ eq true].polluted"],
])("a PATCH of %s changes nothing of the worker", async (path) => {
	const home = await provisioned();
	const person = await home.add(undefined, { name: { givenName: "Ada" } });
	const value = JSON.parse('{"polluted": true, "__proto__": {"polluted": true}}');
	await home.patch(`/Users/${person.id}`, { op: "add", path, value: true });
	await home.patch(`/Users/${person.id}`, { op: "add", value: { [path]: true, ...value } });
	await home.patch(`/Users/${person.id}`, { op: "replace", path: "name", value });
	await home.patch(`/Groups/${(await home.group("x")).id}`, { op: "add", path, value });
	expect(Object("").polluted).toBeUndefined();
	expect((await home.scim("GET", `/Users/${person.id}`)).body.name).toEqual({ givenName: "Ada" });
});

/** Each is a level of SQL in a comparison that ignores case. */
const CYRILLIC = Array.from({ length: 50 }, (_, i) => String.fromCodePoint(0x430 + i)).join("");

test("filters find users by what providers look for", async () => {
	const home = await provisioned();
	const ada = await home.add(home.address("ada.lovelace"), {
		externalId: "00uAda",
		displayName: "Ada Ärmel",
		name: { givenName: "Augusta", familyName: "King" },
	});
	const bob = await home.add(home.address("bob"), { externalId: "00uBob", active: false });
	const found = async (filter: string) => {
		const { status, body } = await home.scim("GET", `/Users?filter=${encodeURIComponent(filter)}`);
		return status === 200
			? body.Resources.map(({ id }: { id: string }) => (id === ada.id ? "ada" : "bob"))
			: body.scimType;
	};
	for (const [filter, expected] of [
		[`userName eq "${ada.userName.toUpperCase()}"`, ["ada"]],
		[`USERNAME Eq "${ada.userName}"`, ["ada"]],
		[`urn:ietf:params:scim:schemas:core:2.0:User:userName eq "${ada.userName}"`, ["ada"]],
		[`emails.value eq "${bob.userName}"`, ["bob"]],
		[`emails[type eq "work"].value eq "${bob.userName}"`, ["bob"]],
		[`emails[type eq "home"].value eq "${bob.userName}"`, []],
		['userName sw "ADA."', ["ada"]],
		['userName sw "lovelace"', []],
		['userName co "Lovelace"', ["ada"]],
		['externalId eq "00uBob"', ["bob"]],
		['externalId eq "00ubob"', []],
		['externalId sw "00u"', ["ada", "bob"]],
		['displayName co "äRMEL"', ["ada"]],
		['displayName eq "ada Ärmel"', ["ada"]],
		["active eq true", ["ada"]],
		['active eq "False"', ["bob"]],
		[`id eq "${bob.id}"`, ["bob"]],
		['externalId eq "00uAda" and active eq true', ["ada"]],
		['externalId eq "00uAda" and active eq false', []],
		['externalId eq "00uAda" or externalId eq "00uBob"', ["ada", "bob"]],
		['active eq true and (externalId eq "x" or userName co "ada")', ["ada"]],
		['userName co "%"', []],
		['userName co "\' or 1=1 --"', []],
		[`userName ne "${ada.userName}"`, ["bob"]],
		['displayName ne "x"', ["ada", "bob"]],
		["displayName pr", ["ada"]],
		["displayName eq null", ["bob"]],
		["externalId ne null", ["ada", "bob"]],
		["not (displayName pr)", ["bob"]],
		[`userName ew "${home.domain.toUpperCase()}"`, ["ada", "bob"]],
		['displayName ew "ÄRMEL"', ["ada"]],
		['displayName ew "Ada"', []],
		['displayName ew ""', ["ada"]],
		['externalId ew "Ada"', ["ada"]],
		['externalId ew "ada"', []],
		[`externalId ew "${"x".repeat(20)}"`, []],
		['externalId gt "00uAda"', ["bob"]],
		['externalId ge "00uAda" and externalId lt "00uB"', ["ada"]],
		['userName le "ADAM"', ["ada"]],
		['displayName ge "ADA ÄRMEL"', ["ada"]],
		['name.givenName sw "au"', ["ada"]],
		['name.familyName eq "king" and not name.formatted pr', ["ada"]],
		['meta.created gt "2020-01-01T00:00:00+02:00"', ["ada", "bob"]],
		[`meta.lastModified lt "${ada.meta.created}"`, []],
		['active ne "true"', ["bob"]],
		["not (not (active eq true))", ["ada"]],
		['emails[type eq "work" and not (value sw "ada")]', ["bob"]],
		['emails[type eq "home" or primary eq false]', []],
		["emails.type pr", ["ada", "bob"]],
		[`id ne "${ada.id.toUpperCase()}"`, ["bob"]],
		["active gt true", "invalidFilter"],
		["userName gt null", "invalidFilter"],
		["userName eq 1", "invalidFilter"],
		['meta.created sw "2020"', "invalidFilter"],
		['meta.created gt "yesterday"', "invalidFilter"],
		[`${"not ".repeat(100)}active pr`, "invalidFilter"],
		[Array(20).fill('displayName ew "\u00e1o\u0308βßi"').join(" or "), []],
		[`${"not (".repeat(9)}displayName co "${CYRILLIC}"${")".repeat(9)}`, ["ada", "bob"]],
		[`${"not (".repeat(10)}displayName co "${CYRILLIC}"${")".repeat(10)}`, "invalidFilter"],
		[
			`${"(".repeat(9)}displayName ne "${CYRILLIC}"${' and id pr) or externalId eq "x"'.repeat(9)}`,
			["ada", "bob"],
		],
		['password eq "x"', "invalidFilter"],
		['__proto__ eq "x"', "invalidFilter"],
		['userName eq "x', "invalidFilter"],
		["userName eq", "invalidFilter"],
		["", "invalidFilter"],
		[`userName eq "${"\n".repeat(900)}`, "invalidFilter"],
		[`${"(".repeat(500)}active eq true${")".repeat(500)}`, "invalidFilter"],
		[Array(21).fill("active eq true").join(" and "), "invalidFilter"],
		[`userName eq "${"x".repeat(1_000)}"`, "invalidFilter"],
	] as const)
		expect([filter, await found(filter)]).toEqual([filter, expected]);
});

test("lists have pages, and only the attributes that were asked for", async () => {
	const home = await provisioned();
	const ids: string[] = [];
	for (let i = 0; i < 5; i++) ids.push((await home.add(undefined, { displayName: "x" })).id);
	const page = async (query: string) => {
		const { body } = await home.scim("GET", `/Users?${query}`);
		const { totalResults, startIndex, itemsPerPage, Resources } = body;
		return [
			totalResults,
			startIndex,
			itemsPerPage,
			Resources.map(({ id }: { id: string }) => ids.indexOf(id)),
		];
	};
	expect(await page("startIndex=2&count=2")).toEqual([5, 2, 2, [1, 2]]);
	expect(await page("startIndex=0&count=1")).toEqual([5, 1, 1, [0]]);
	expect(await page("count=0")).toEqual([5, 1, 0, []]);
	expect(await page("startIndex=6")).toEqual([5, 6, 0, []]);
	expect(await page("count=-1")).toEqual([5, 1, 0, []]);
	const keys = async (query: string) =>
		Object.keys((await home.scim("GET", `/Users/${ids[0]}?${query}`)).body).sort();
	expect(await keys("attributes=userName")).toEqual(["id", "schemas", "userName"]);
	expect(await keys("excludedAttributes=meta,emails,DISPLAYNAME")).toEqual([
		"active",
		"id",
		"schemas",
		"userName",
	]);
	const inner = await home.scim("GET", "/Users?attributes=emails.value&count=1");
	expect(Object.keys(inner.body.Resources[0].emails[0])).toEqual(["value"]);
});

test("the endpoint describes itself", async () => {
	const home = await provisioned();
	const { body } = await home.scim("GET", "/ServiceProviderConfig");
	expect(body).toMatchObject({
		patch: { supported: true },
		bulk: { supported: false },
		filter: { supported: true, maxResults: 200 },
		sort: { supported: false },
		etag: { supported: true },
	});
	for (const list of ["/ResourceTypes", "/Schemas"]) {
		const all = (await home.scim("GET", list)).body;
		expect(all.totalResults).toBe(2);
		for (const each of all.Resources)
			expect((await home.scim("GET", `${list}/${each.id}`)).body).toEqual(each);
	}
});

test("admins see the last 200 requests with their responses, without secrets", async () => {
	const home = await provisioned();
	const listed = () => home.here("GET", `${home.at}/requests?limit=1000`);
	await home.scim("POST", "/Users", {
		body: { userName: home.address("ada"), password: "hunter2", name: { clientSecret: "x" } },
	});
	await home.scim("GET", '/Users?filter=userName eq "x"');
	await home.scim("GET", "/Users/nobody");
	await send(home.domain_id, "GET", "/Users", { token: newValue("tnt_scim_") });
	const requests = await eventually(async () => {
		const { results } = (await listed()).body;
		expect(results).toHaveLength(3);
		return results;
	});
	expect(requests).toMatchObject([
		{ method: "GET", path: "/Users/nobody", status: 404, request: null },
		{ method: "GET", path: "/Users?filter=userName%20eq%20%22x%22", status: 200 },
		{ method: "POST", path: "/Users", status: 201 },
	]);
	expect(JSON.parse(requests[0].response)).toMatchObject({ schemas: [ERROR], status: "404" });
	expect(JSON.parse(requests[2].request)).toMatchObject({ password: "********" });
	expect(JSON.stringify(requests)).not.toContain("hunter2");
	expect(JSON.stringify(requests)).not.toContain(home.token);
	await home.scim("POST", "/Users", { body: { userName: "x".repeat(50_000) } });
	await times(201, (i) =>
		db.insert(scimRequests).values({
			...{ domain_id: home.domain_id, id: v7({ msecs: 1 + i }) },
			...{ method: "GET", path: "/", status: 200 },
		}),
	);
	await home.scim("GET", "/Schemas");
	await eventually(async () => {
		const { count, results } = (await listed()).body;
		expect(count).toBe(200);
		for (const { request, response } of results)
			expect((request ?? "").length + (response ?? "").length).toBeLessThan(8_100);
	});
});

test.each([
	["a token is limited like a key", "REQUESTS", undefined],
	["after many wrong tokens from an IP address, more are a 429", "AUTH_FAILURES", "tnt_scim_"],
])("%s", async (_, limiter, prefix) => {
	const home = await provisioned();
	const limit = vi.fn(async () => ({ success: false }));
	const token = prefix ? newValue(prefix) : home.token;
	const { status } = await call("GET", `/scim/v2/${home.domain_id}/Users`, {
		headers: { authorization: `Bearer ${token}` },
		env: { [limiter]: { limit } },
		// The endpoint isn't in the OpenAPI document, so `call` throws.
	}).catch((error: Error) => ({ status: Number(/→ (\d+)/.exec(error.message)?.[1]) }));
	expect(status).toBe(429);
	expect(limit).toHaveBeenCalledOnce();
});
