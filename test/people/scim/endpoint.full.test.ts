import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { ERROR, ignoredAt, provisioned } from "../../support/scim.ts";
import { cost, db } from "../../support/world.ts";

/** JSON that is nested so deeply that a recursive function fails. */
const nested = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`;

test("large and deeply nested bodies are handled or rejected like any other", async () => {
	const home = await provisioned();
	const person = await home.add();
	const group = await home.group("Team");
	const deep = nested(100_000);
	const patch = (path: string) =>
		`{"Operations":[{"op":"add","path":"${path}","value":${deep}},{"op":"add","value":{"${path}":${deep}}}]}`;
	const others = Array.from({ length: 12_000 }, () => ({ value: crypto.randomUUID() }));
	for (const [method, path, body, status, scimType] of [
		["POST", "/Users", { userName: home.address(), photo: "x".repeat(500_000) }, 201],
		["POST", "/Users", { userName: home.address(), displayName: "x".repeat(500_000) }, 201],
		["POST", "/Users", { userName: home.address(), photo: "x".repeat(2 ** 20) }, 413],
		["PUT", `/Groups/${group.id}`, { displayName: "Team", members: others }, 400, "tooMany"],
		["POST", "/Users", `{"userName":"${home.address()}","photo":${deep}}`, 201],
		["POST", "/Users", `{"userName":${deep}}`, 400, "invalidValue"],
		["PUT", `/Users/${person.id}`, `{"userName":"${person.userName}","name":${deep}}`, 200],
		["PUT", `/Users/${person.id}`, `{"userName":"${person.userName}","active":${deep}}`, 200],
		["PATCH", `/Users/${person.id}`, patch("displayName"), 200],
		["PATCH", `/Users/${person.id}`, patch("name.givenName"), 200],
		["PATCH", `/Groups/${group.id}`, patch("members"), 400, "invalidValue"],
		["POST", "/Groups", `{"displayName":"x","members":${deep}}`, 400, "invalidValue"],
	] as const) {
		const response = await home.scim(method, path, { body });
		expect([method, path, response.status, response.body.scimType]).toEqual([
			method,
			path,
			status,
			scimType,
		]);
		if (status >= 400) expect(response.body.schemas).toEqual([ERROR]);
	}
});

test("names in every script are kept, found, and shown as the account's", async () => {
	const home = await provisioned();
	for (const [givenName, familyName, part] of [
		["愛", "山田", "山"],
		["Ольга", "Ёлкина", "ёлк"],
		["محمد", "علي", "علي"],
		["Zoë", "Ångström", "ÅNGSTR"],
		["👩🏽‍💻", "𠮷野", "𠮷"],
	] as const) {
		const displayName = `${givenName} ${familyName}`;
		const person = await home.add(undefined, { name: { givenName, familyName }, displayName });
		expect(person).toMatchObject({ name: { givenName, familyName }, displayName });
		expect((await home.member(person.userName)).user).toMatchObject({
			first_name: givenName,
			last_name: familyName,
		});
		for (const filter of [
			`displayName co "${part}"`,
			`displayName sw "${givenName}"`,
			`displayName eq "${displayName.toUpperCase()}"`,
		]) {
			const path = `/Users?filter=${encodeURIComponent(filter)}`;
			const { Resources } = (await home.scim("GET", path)).body;
			expect([filter, ...Resources.map(({ id }: { id: string }) => id)]).toEqual([
				filter,
				person.id,
			]);
		}
	}
	for (const [displayName, kept] of [
		["a\0b", "ab"],
		["a\ud800", "a\ufffd"],
		[` ${"👩🏽‍💻".repeat(100)}`, `${"👩🏽‍💻".repeat(63)}👩🏽‍`],
	]) {
		const body = `{"userName":"${home.address()}","displayName":${JSON.stringify(displayName)}}`;
		const response = await home.scim("POST", "/Users", { body });
		expect([response.status, response.body.displayName]).toEqual([201, kept]);
	}
});

test("of two parallel replacements of a group, one follows the other", async () => {
	const home = await provisioned();
	const group = await home.group("Team");
	const lists = [[await home.add(), await home.add()], [await home.add()]];
	const results = await Promise.all(
		lists.map((members) =>
			home.scim("PUT", `/Groups/${group.id}`, {
				body: { displayName: "Team", members: members.map(({ id }) => ({ value: id })) },
			}),
		),
	);
	expect(results.map(({ status }) => status)).toEqual([200, 200]);
	const { body } = await home.scim("GET", `/Groups/${group.id}`);
	expect([1, 2]).toContain(body.members.length);
});

test("finding one user reads as much in a large organization as in a small one", async () => {
	const home = await provisioned();
	const person = await home.add(undefined, { externalId: "abc" });
	const finds = [`userName eq "${person.userName}"`, 'externalId eq "abc"'];
	const read = () =>
		Promise.all(
			finds.map(async (filter) => {
				const found = await home.scim("GET", `/Users?filter=${encodeURIComponent(filter)}`);
				expect(found.body.totalResults).toBe(1);
				return cost(found).read;
			}),
		);
	const before = await read();
	// SQLite plans for fewer rows otherwise.
	for (let i = 0; i < 80; i++) await home.employee();
	await db.run(sql`analyze`);
	expect(await read()).toEqual(before);
});

test("a person leaves although the operation is among ten thousand others", async () => {
	const home = await provisioned();
	const person = await home.employee();
	const path = `/Users/${person.uuid}`;
	const others = (operation: object) => Array(5_000).fill(operation);
	const { status, body } = await home.patch(
		path,
		...others({ op: "move" }),
		{ op: "Replace", path: "active", value: "False" },
		...others({ op: "replace", path: "title", value: "x" }),
	);
	expect([status, body.active]).toEqual([200, false]);
	const [ignored] = await ignoredAt(home, [path]);
	expect(ignored).toHaveLength(50);
});
