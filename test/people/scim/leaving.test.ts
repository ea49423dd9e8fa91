/** The end of access, whatever else a request holds (docs/sign-on.md#what-cant-be-taken). */
import { eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { invites, members, users } from "../../../src/db/schema/people.ts";
import { scimUsers } from "../../../src/db/schema/scim.ts";
import { tokenIn } from "../../sign_in/link/support.ts";
import { finish, who } from "../../sign_in/oidc/support.ts";
import { link } from "../../support/domains.ts";
import { outbox } from "../../support/mail.ts";
import { ignoredAt, provisioned, startsOf, USER } from "../../support/scim.ts";
import { call, db, racing } from "../../support/world.ts";

type Home = Awaited<ReturnType<typeof provisioned>>;

const replace = (path: string, value: unknown) => ({ op: "replace", path, value });
const off = { op: "Replace", path: "active", value: "False" };
const on = { op: "Replace", path: "active", value: "True" };

const CORE = "urn:ietf:params:scim:schemas:core:2.0:User";
const LONG = "x".repeat(256);
const ELSEWHERE = "ada@example.org";
const membershipsOf = ({ id }: { id: number }) =>
	db.select().from(members).where(eq(members.user_id, id));

/** Stands for the address of another account in the rows below. */
const TAKEN = "<taken>";
/** Stands for an address of the domain that nobody has. */
const FREE = "<free>";

/** A PATCH that ends access: its operations, and what of them the log names. */
const PATCHES: [string, unknown[], string[]][] = [
	["alone", [off], []],
	["under the core schema", [{ op: "replace", value: { [CORE]: { active: false } } }], []],
	[
		"with the core schema as path",
		[replace(CORE, { active: "False", [CORE]: { [CORE]: {} }, "urn:x:y:User": {} })],
		[`${CORE}: not`, "urn:x:y:User: not"],
	],
	["with a new address", [off, replace("userName", FREE)], []],
	["with an address elsewhere", [off, replace("userName", ELSEWHERE)], ["userName: It"]],
	["with somebody else's address", [off, replace("userName", TAKEN)], ["userName: Another"]],
	["with a text as address", [replace("userName", "ada"), off], ["userName: Enter"]],
	["without an address", [{ op: "remove", path: "userName" }, off], ["userName: This"]],
	["with a long name", [replace("displayName", LONG), off], ["displayName: shortened"]],
	[
		"with names of another type",
		[off, replace("name", "Ada"), replace("displayName", [1])],
		["displayName: Not", "name: Expected"],
	],
	["with a long id", [off, replace("externalId", LONG)], ["externalId: Ensure"]],
	[
		"with unknown attributes",
		[replace('phoneNumbers[type eq "work"].value', 1), off, replace("urn:x:y:User:z", 1)],
		["phoneNumbers[", "urn:x:y:User:z: not"],
	],
	[
		"after what isn't an operation",
		[1, { op: "move" }, off],
		["Operations.0: ", "Operations.1.op: "],
	],
	[
		"before operations without a value or path",
		[off, { op: "add", path: "displayName" }, { op: "remove" }, { op: "add", value: [1] }],
		["A remove needs", "The operation add", "Without a path"],
	],
	[
		"before paths that aren't supported",
		[off, replace("a b", 1), replace('name[value eq "1"]', 1)],
		["The path a b", "The path name["],
	],
	[
		"without a path",
		[{ op: "replace", value: { active: "false", userName: 1, nickName: "x" } }],
		["nickName: not", "userName: Not"],
	],
	["with its id, as Okta sends it", [{ op: "replace", value: { id: "x", active: false } }], []],
	["under its full name", [{ op: "add", value: { [`${USER}:Active`]: false } }], []],
	["as a removal", [{ op: "remove", path: "active" }], ["active: "]],
	...[0, "0", "no", "", null, {}, [], 1, "yes"].map((value): [string, unknown[], string[]] => [
		`as ${JSON.stringify(value)}`,
		[replace("active", value)],
		["active: "],
	]),
];

/** A PUT that ends access. */
const PUTS: [string, object, string[]][] = [
	["with a new address", { userName: FREE }, []],
	["with an address elsewhere", { userName: ELSEWHERE }, ["userName: It"]],
	["with somebody else's address", { userName: TAKEN }, ["userName: Another"]],
	["without an address", {}, ["userName: This"]],
	[
		"with attributes that can't be taken",
		{
			schemas: "x",
			userName: null,
			externalId: {},
			displayName: LONG,
			name: { givenName: 5, familyName: LONG, middleName: 1 },
			emails: 5,
			phoneNumbers: [{}],
			"urn:x:y:User": { department: "Sales" },
		},
		[
			"displayName: shortened",
			"emails: not",
			"externalId: Not",
			"name.familyName: shortened",
			"name.givenName: Not",
			"phoneNumbers: not",
			"urn:x:y:User: not",
			"userName: This",
		],
	],
];

/** Sends a request with addresses instead of what stands for them. */
const send = (home: Home, method: string, path: string, body: object, taken: string) =>
	home.scim(method, path, {
		body: JSON.stringify(body).replaceAll(TAKEN, taken).replaceAll(FREE, home.address()),
	});

test.each([
	["PATCH", PATCHES.map(([what, Operations, ignored]) => [what, { Operations }, ignored] as const)],
	[
		"PUT",
		PUTS.map(([what, body, ignored]) => [what, { ...body, active: false }, ignored] as const),
	],
])(
	"a %s that ends access is carried out whatever else it holds, and the log names the rest",
	async (method, rows) => {
		const home = await provisioned();
		const other = await home.employee();
		const paths: string[] = [];
		for (const [what, body] of rows) {
			const person = await home.employee();
			const path = `/Users/${person.uuid}`;
			paths.push(path);
			const response = await send(home, method, path, body, other.email);
			const { status } = await call("GET", "/api/users/@me", { key: person.key });
			expect([what, response.status, response.body.active, status]).toEqual([
				what,
				200,
				false,
				401,
			]);
			expect(await membershipsOf(person)).toEqual([]);
		}
		const ignored = await ignoredAt(home, paths);
		for (const [i, [what, , expected]] of rows.entries())
			expect([what, startsOf(ignored[i], expected)]).toEqual([what, expected]);
	},
);

test("only true gives access: nothing else activates anybody", async () => {
	const home = await provisioned();
	for (const value of [false, 1, "1", "yes", "on", "truex", "", null, {}, [true], "active"]) {
		const created = await home.scim("POST", "/Users", {
			body: { userName: home.address(), active: value },
		});
		expect([value, created.status]).toEqual([value, value === false ? 201 : 400]);
		const { id } = await home.add(undefined, { active: false });
		const changes = [
			await home.patch(`/Users/${id}`, replace("active", value)),
			await home.patch(`/Users/${id}`, { op: "add", value: { active: value } }),
			await home.scim("PUT", `/Users/${id}`, { body: { active: value } }),
		];
		for (const { status, body } of changes)
			expect([value, status, body.active]).toEqual([value, 200, false]);
	}
	const isMember = eq(members.organization_id, home.organization_id);
	expect(await db.select().from(members).where(isMember)).toHaveLength(1);
	for (const value of [true, "true", "True", "TRUE"]) {
		const { id } = await home.add(undefined, { active: false });
		const { body } = await home.patch(`/Users/${id}`, replace("active", value));
		expect([value, body.active]).toEqual([value, true]);
	}
});

test.each([
	["an address elsewhere", [replace("userName", ELSEWHERE)], 400],
	["somebody else's address", [replace("userName", TAKEN)], 409],
	["a long id", [replace("externalId", LONG)], 400],
	["an operation that isn't one", [{ op: "move" }], 400],
])("a request that gives access is rejected as a whole for %s", async (_, operations, expected) => {
	const home = await provisioned();
	const other = await home.employee();
	const { id, userName } = await home.add(undefined, { displayName: "Old", active: false });
	const Operations = [replace("displayName", "New"), ...operations, on];
	const { status } = await send(home, "PATCH", `/Users/${id}`, { Operations }, other.email);
	expect(status).toBe(expected);
	expect((await home.scim("GET", `/Users/${id}`)).body).toMatchObject({
		userName,
		displayName: "Old",
		active: false,
	});
	expect(await home.member(userName)).toBeUndefined();
});

test("of a request that leaves access as it is, what can't be taken stays as it was", async () => {
	const home = await provisioned();
	const other = await home.employee();
	const { id, userName } = await home.add(undefined, {
		externalId: "1",
		displayName: "Old",
		name: { givenName: "Ada", familyName: "King" },
	});
	const path = `/Users/${id}`;
	const kept = { userName, externalId: "1", active: true };
	const put = await home.scim("PUT", path, {
		body: {
			...{ userName: ELSEWHERE, externalId: 5, active: true, displayName: "New" },
			name: { givenName: {}, familyName: "Lovelace" },
		},
	});
	expect([put.status, put.body]).toMatchObject([
		200,
		{ ...kept, displayName: "New", name: { givenName: "Ada", familyName: "Lovelace" } },
	]);
	const [ignored] = await ignoredAt(home, [path]);
	const expected = ["externalId: Not", "name.givenName: Not", "userName: It can only"];
	expect(startsOf(ignored, expected)).toEqual(expected);
	// Names that are taken and operations that aren't valid have an error of their own.
	for (const [operation, status, scimType] of [
		[replace("userName", other.email), 409, "uniqueness"],
		[{ op: "move" }, 400, "invalidValue"],
		[replace("a b", 1), 400, "invalidPath"],
	] as const) {
		const rejected = await home.patch(path, replace("displayName", "Newer"), operation);
		expect([rejected.status, rejected.body.scimType]).toEqual([status, scimType]);
	}
	expect((await home.scim("GET", path)).body).toMatchObject({ ...kept, displayName: "New" });
	expect((await home.member(userName)).user.uuid).toBe(id);
});

test("a change of other attributes leaves an account alone that the operator has deactivated", async () => {
	const home = await provisioned();
	const person = await home.employee();
	await db.update(users).set({ is_active: false }).where(eq(users.id, person.id));
	const { status } = await home.patch(`/Users/${person.uuid}`, replace("displayName", "New"));
	expect(status).toBe(200);
	expect(await membershipsOf(person)).toHaveLength(1);
});

test("a DELETE is carried out whatever its body is", async () => {
	const home = await provisioned();
	const person = await home.employee();
	const { status } = await home.scim("DELETE", `/Users/${person.uuid}`, { body: "{" });
	expect(status).toBe(204);
	expect(await membershipsOf(person)).toEqual([]);
});

/** Sends a request while something else changes between its read and its write, each time. */
const sendWhile = (home: Home, method: string, path: string, body: object, env: Partial<Env>) =>
	call(method, `/scim/v2/${home.domain_id}${path}`, {
		headers: { authorization: `Bearer ${home.token}` },
		body,
		env,
		// The endpoint isn't in the OpenAPI document, so `call` throws.
	}).catch((error: Error) => error);

test("access ends beside changes of the level by others", async () => {
	const home = await provisioned();
	const person = await home.employee();
	let changes = 0;
	const setLevel = (level: number) =>
		db.update(members).set({ level }).where(eq(members.user_id, person.id));
	const change = async () => {
		changes += 1;
		if (changes <= 6) await setLevel(changes % 2 ? 8 : 1);
	};
	const env = racing(change, { again: true });
	await sendWhile(home, "PATCH", `/Users/${person.uuid}`, { Operations: [off] }, env);
	expect(changes).toBe(7);
	expect(await membershipsOf(person)).toEqual([]);
});

test("userName changes within the domain: keys, links and levels stay, and both addresses are told", async () => {
	const home = await provisioned();
	const [before, after] = [home.address("ada.king"), home.address("ada.lovelace")];
	const person = await home.employee(8, before);
	const subject = await link(person.id, `oidc:${home.domain_id}`, before);
	const mails = outbox();
	for (const target_email of [before, after])
		await db.insert(invites).values({
			organization_id: home.organization_id,
			target_email,
			token_hash: crypto.randomUUID(),
			emailing_attempt_made: true,
			created_by: home.owner.id,
		});
	await sendWhile(
		home,
		"PUT",
		`/Users/${person.uuid}`,
		{ userName: after.toUpperCase(), active: true },
		mails.env,
	);
	const me = await call("GET", "/api/users/@me", { key: person.key });
	expect([me.status, me.body]).toMatchObject([200, { uuid: person.uuid, email: after }]);
	expect((await home.member(after)).level).toBe(8);
	expect(await home.member(before)).toBeUndefined();
	// The provider may still report the old address.
	const outcome = await finish(home, who(home, { subject, email: before }));
	const signIn = await call("POST", "/api/sign_in/preview", { body: outcome });
	expect([signIn.status, signIn.body.email]).toEqual([200, after]);
	const found = await home.scim("GET", `/Users?filter=userName eq "${after}"`);
	expect(found.body.Resources).toMatchObject([{ id: person.uuid, emails: [{ value: after }] }]);
	// With one, the person could come back after they have left.
	const isOfHome = eq(invites.organization_id, home.organization_id);
	expect(await db.select().from(invites).where(isOfHome)).toEqual([]);
	const { results } = (await home.here("GET", "/activity_log?scope=User&activity=updated")).body;
	expect(results).toMatchObject([
		{
			item_id: person.uuid,
			detail: {
				name: before,
				changes: [{ field: "email", action: "changed", before, after }],
				trigger: { job_type: "scim" },
			},
		},
	]);
	const sent = mails.take();
	expect(sent.map(({ to }) => to)).toEqual([before, after]);
	for (const { subject, text } of sent) {
		expect(subject).toBe("The email address of your Tenantry account was changed");
		expect(text).toContain(`from ${before} to ${after}`);
	}
});

test("a link that was mailed to the old address signs nobody in", async () => {
	const home = await provisioned();
	const person = await home.employee();
	const mails = outbox();
	await call("POST", "/api/sign_in", { body: { email: person.email }, env: mails.env });
	const token = tokenIn(mails.take()[0]?.text);
	const find = () => call("POST", "/api/sign_in/preview", { body: { token } });
	expect((await find()).status).toBe(200);
	await home.patch(`/Users/${person.uuid}`, replace("userName", home.address()));
	expect((await find()).status).toBe(400);
});

test("of an address that another account gets in that moment, the rest of the request remains", async () => {
	const home = await provisioned();
	const person = await home.employee();
	const userName = home.address();
	const env = racing(() => db.insert(users).values({ email: userName }));
	const body = { Operations: [off, replace("userName", userName)] };
	await sendWhile(home, "PATCH", `/Users/${person.uuid}`, body, env);
	const [left] = await db.select().from(users).where(eq(users.id, person.id));
	expect(left?.email).toBe(person.email);
	expect(await membershipsOf(person)).toEqual([]);
});

test("an account whose address isn't in the domain keeps it", async () => {
	const [home, other] = [await provisioned(), await provisioned()];
	const person = await other.employee();
	// As if the domain had been another one when the provider added the person.
	await db.insert(scimUsers).values({ domain_id: home.domain_id, user_id: person.id });
	const { status, body } = await home.patch(
		`/Users/${person.uuid}`,
		replace("userName", home.address()),
	);
	expect([status, body.userName]).toEqual([200, person.email]);
});

test.each([
	["a PATCH", "PATCH", { Operations: [off, replace("userName", FREE)] }],
	["a DELETE", "DELETE", {}],
])(
	"an owner isn't removed by %s, of which an event and a mail tell the other owners once a day",
	async (_, method, body) => {
		const home = await provisioned();
		const owner = await home.employee(15);
		await home.employee(8);
		const path = `/Users/${owner.uuid}`;
		const mails = outbox();
		for (const mailed of [[home.owner.email], []]) {
			await sendWhile(home, method, path, body, mails.env);
			const sent = mails.take();
			expect(sent.map(({ to }) => to)).toEqual(mailed);
			if (sent[0]) expect(sent[0].text).toContain(`wants to remove ${owner.email}`);
		}
		const { status, body: rejected } = await send(home, method, path, body, "");
		expect([status, rejected.scimType]).toEqual([403, "mutability"]);
		expect((await home.member(owner.email)).level).toBe(15);
		const events = await home.here("GET", "/events?types=member.removal_rejected");
		expect(events.body.results).toMatchObject([
			{ type: "member.removal_rejected", data: { name: owner.email } },
		]);
	},
);

test("the only owner isn't removed, of which a mail tells the admins", async () => {
	const home = await provisioned();
	const owner = await home.employee(15);
	const admin = await home.employee(8);
	await db.delete(members).where(eq(members.user_id, home.owner.id));
	const mails = outbox();
	await sendWhile(home, "DELETE", `/Users/${owner.uuid}`, {}, mails.env);
	expect(mails.take().map(({ to }) => to)).toEqual([admin.email]);
});
