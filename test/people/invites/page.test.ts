import { eq } from "drizzle-orm";
import { v7 } from "uuid";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { organizations } from "../../../src/db/schema/organizations.ts";
import { invites, users } from "../../../src/db/schema/people.ts";
import { call, db, person, world } from "../../support/world.ts";
import { createMailedInvite, type Home } from "./support.ts";

/** The path of a new invite's page. `row` overrides columns of the invite. */
async function page(home: Home, body: object = {}, row: Partial<typeof invites.$inferInsert> = {}) {
	const { id, token } = await createMailedInvite(home, body);
	if (Object.keys(row).length > 0) await db.update(invites).set(row).where(eq(invites.id, id));
	return `/invites/${token}`;
}

/** The page's text without markup. */
async function textOf(path: string, method = "GET") {
	const { body } = await call(method, path);
	const [, main = ""] = /<main>(.*)<\/main>/s.exec(body) ?? [];
	return main
		.replace(/<[^>]+>/g, " ")
		.replaceAll("&#39;", "'")
		.replace(/[^\S\n]+/g, " ");
}

const revokes = "all its API keys stop working";

test("the page shows the inviter, the organization, the level, the message and the expiry", async () => {
	const home = await world("Acme");
	const message = "Hello Ada,\nlook at this.";
	const created_at = "2999-01-02T03:04:05.678Z";
	const { owner } = home;
	for (const [level, role] of [
		[1, "a member"],
		[8, "an admin"],
		[15, "an owner"],
	] as const) {
		const target_email = `${v7()}@invited.test`;
		const path = await page(home, { level, message, target_email }, { created_at });
		const text = await textOf(path);
		expect(text).toContain(
			`Test (${owner.email}) invites ${target_email} to join Acme on Tenantry as ${role}.`,
		);
		expect(text).toContain(message);
		expect(text).toContain("until 5 January 2999 at 03:04 UTC");
		expect(text).not.toContain(revokes);
	}
	await db.update(users).set({ first_name: "" }).where(eq(users.id, owner.id));
	const path = await page(home);
	expect(await textOf(path)).toContain(` ${owner.email} invites `);
});

test("the page escapes what people wrote, and removes control characters", async () => {
	const home = await world();
	const evil = "<b>A</b>\u202ecme\r\n\u0007x";
	await db.update(organizations).set({ name: evil }).where(eq(organizations.uuid, home.id));
	await db.update(users).set({ first_name: evil }).where(eq(users.id, home.owner.id));
	const path = await page(home, {}, { message: `one\u001b[31m\r\n${evil}` });
	const { body } = await call("GET", path);
	expect(body).not.toMatch(/[^\P{Cc}\n]|\u202e|<b>/u);
	expect(body).toContain("<title>Join &lt;b&gt;A&lt;/b&gt; cme x &middot; Tenantry");
	expect(body).toContain("<blockquote>one [31m\n&lt;b&gt;A&lt;/b&gt; cme\nx</blockquote>");
	const welcome = await call("POST", path);
	expect(welcome.body).toContain("<title>Welcome to &lt;b&gt;A&lt;/b&gt; cme x &middot; Tenantry");
	expect(welcome.body).toContain('href="/console"');
});

test("the page warns above the button that accepting revokes the keys of a user with an unverified address", async () => {
	const home = await world();
	const someone = await person();
	const target_email = someone.email;
	const path = await page(home, { target_email });
	const text = await textOf(path);
	expect(text).toContain(revokes);
	expect(text.indexOf(revokes)).toBeLessThan(text.indexOf("Accept the invite"));
	expect((await call("GET", "/api/users/@me", { key: someone.key })).status).toBe(200);
	await db.update(users).set({ is_email_verified: true }).where(eq(users.id, someone.id));
	expect(await textOf(path)).not.toContain(revokes);
	// A link that wasn't mailed can't be used to take over a user.
	await db.update(users).set({ is_email_verified: false }).where(eq(users.id, someone.id));
	const handed = await page(home, { target_email }, { emailing_attempt_made: false });
	expect(await textOf(handed)).not.toContain(revokes);
	expect(await textOf(handed, "POST")).toContain("an API key of that user");
});

test("the page of an expired invite shows that it has expired", async () => {
	const path = await page(await world("Acme"), {}, { created_at: "2020-01-01T00:00:00.000Z" });
	expect((await call("GET", path)).status).toBe(410);
	expect(await textOf(path)).toContain("Invites to Acme work for three days.");
	expect((await call("POST", path)).status).toBe(410);
});

test("the page, whose URL has the token, isn't cached, referred to, or opened by another", async () => {
	const path = await page(await world());
	for (const method of ["GET", "POST"]) {
		const { status, headers } = await call(method, path);
		expect([method, status, Object.fromEntries(headers)]).toMatchObject([
			method,
			200,
			{
				"content-type": expect.stringContaining("text/html"),
				"cache-control": "no-store",
				"referrer-policy": "no-referrer",
				"cross-origin-opener-policy": "same-origin",
				"content-security-policy": expect.stringContaining("default-src 'none'"),
			},
		]);
	}
});

test("the page of an unknown link and that of a used one say so", async () => {
	const used = await page(await world());
	await call("POST", used);
	for (const path of [used, `/invites/${"x".repeat(43)}`])
		for (const method of ["GET", "POST"]) {
			expect((await call(method, path)).status).toBe(404);
			expect(await textOf(path, method)).toContain("already used");
		}
});

test("the page with the new key is the only one with a script, which its policy allows", async () => {
	const path = await page(await world());
	expect((await call("GET", path)).body).not.toContain("<script");
	const { headers, body } = await call("POST", path, {
		raw: "",
		headers: { "content-type": "application/x-www-form-urlencoded" },
	});
	const [, nonce = ""] = /<script nonce="([^"]+)">[^<]*clipboard/.exec(body) ?? [];
	expect(nonce).not.toBe("");
	expect(headers.get("content-security-policy")).toContain(`script-src 'nonce-${nonce}'`);
});

describe("the form of an invite's page", () => {
	let path: string;
	beforeAll(async () => {
		path = await page(await world());
	});

	const post = (raw: BodyInit) =>
		call("POST", path, {
			raw,
			headers: { "content-type": "application/x-www-form-urlencoded" },
			env: {},
		});

	test("is rejected if a name is not UTF-8, and the invite still works", async () => {
		for (const raw of ["first_name=Jos%E9", "last_name=%ED%A0%80"]) {
			const { status, body } = await post(raw);
			expect(status).toBe(400);
			expect(body).toContain("the invite still works");
		}
		expect((await call("GET", path)).status).toBe(200);
	});

	test("is rejected with the reason if a name is too long or has control characters", async () => {
		for (const name of ["a".repeat(151), "a\u202eb", "a\0b"]) {
			const { status, body } = await post(`first_name=${encodeURIComponent(name)}`);
			expect(status).toBe(400);
			expect(body).toContain("at most 150 characters, and no control characters");
		}
	});

	test("is a 400 and no server error if the client disconnects before its end", async () => {
		const error = vi.spyOn(console, "error");
		const raw = new ReadableStream({
			pull(controller) {
				controller.enqueue(new TextEncoder().encode("first_name="));
				controller.error(new Error("Network connection lost."));
			},
		});
		expect((await post(raw)).status).toBe(400);
		expect(error).not.toHaveBeenCalled();
		error.mockRestore();
	});

	test("accepts names in any script", async () => {
		const { status, body } = await post("first_name=Jos%C3%A9&last_name=%F0%9F%A6%94");
		expect(status).toBe(200);
		expect(body).toContain("Welcome");
	});
});
