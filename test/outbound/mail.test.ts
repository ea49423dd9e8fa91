import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { v7 } from "uuid";
import { describe, expect, test, vi } from "vitest";
import { users } from "../../src/db/schema/users.ts";
import { compose, type Mail, send } from "../../src/outbound/mail.ts";
import { outbox } from "../support/mail.ts";
import { call, db, join, person, world } from "../support/world.ts";

const FROM = "tenantry@example.com";

const mail = (more: Partial<Mail> = {}): Mail => ({
	to: "you@example.org",
	subject: "Hello",
	paragraphs: ["Some text."],
	...more,
});

describe("a message", () => {
	test("has the same content as text and as HTML", async () => {
		const url = "https://app.example.com/invites/x";
		const { text, html, ...headers } = await compose(
			FROM,
			mail({ paragraphs: ["Grüße 🦔", "a & b"], link: { label: "Join", url } }),
		);
		expect(headers).toEqual({
			from: { name: "Tenantry", email: FROM },
			to: "you@example.org",
			subject: "Hello",
		});
		expect(text).toBe("Grüße 🦔\n\na & b\n\nJoin: https://app.example.com/invites/x\n");
		expect(html).toContain(
			`>Grüße 🦔</p><p style="white-space: pre-line">a &amp; b</p><p><a href="${url}">Join</a></p>`,
		);
	});

	test.each([
		"\r\nBcc: evil@example.net",
		"\nBcc: evil@example.net",
		"\rX: y",
		"\r\n\r\nbody",
		"\0",
		"é\r\nBcc: evil@example.net",
		"\u0007\u001b[31m\u0085\u2028\u202e",
	])("takes no line from what people wrote into a header: %j", async (evil) => {
		const { subject, replyTo } = await compose(
			FROM,
			mail({
				subject: `x${evil}`,
				reply_to: { name: `x${evil}`, address: "me@example.org" },
			}),
		);
		expect(replyTo).toEqual({ name: subject, email: "me@example.org" });
		expect(subject).toMatch(/^x[^\p{Cc}\p{Zl}\p{Zp}\u202e]*$/u);
	});

	test("keeps the line breaks of a text, and no other control characters", async () => {
		const { text, html } = await compose(
			FROM,
			mail({
				paragraphs: ["one\r\ntwo\rthree\0\u001b[31m\n\u202efour"],
				link: {
					label: "Join\n\nhttps://evil.example",
					url: "https://x.example",
				},
			}),
		);
		expect(text).toBe(
			"one\ntwo\nthree [31m\nfour\n\nJoin https://evil.example: https://x.example\n",
		);
		expect(html).toContain(">one\ntwo\nthree [31m\nfour</p>");
	});

	test("escapes markup in text of users", async () => {
		const { html } = await compose(
			FROM,
			mail({
				paragraphs: ["<script>alert(1)</script>"],
				link: { label: "<b>", url: 'https://x.example/"><img>' },
			}),
		);
		expect(html).toContain("&lt;script&gt;");
		expect(html).not.toMatch(/<script|<b>|<img/);
	});
});

test("the binding accepts a message", async () => {
	const error = vi.spyOn(console, "error").mockImplementation(() => {});
	await send(env, mail());
	expect(error).not.toHaveBeenCalled();
	error.mockRestore();
});

test("an error of the binding is logged without the mail's content", async () => {
	const error = vi.spyOn(console, "error").mockImplementation(() => {});
	const EMAIL = { send: () => Promise.reject(new Error("refused")) };
	await send({ ...env, EMAIL }, mail({ paragraphs: ["a secret"] }));
	expect(error).toHaveBeenCalledOnce();
	expect(String(error.mock.calls)).not.toMatch(/secret|you@/);
	error.mockRestore();
});

describe("mail is sent", () => {
	test("an invite is mailed to its address, unless send_email is false or mail isn't configured", async () => {
		const { here } = await world();
		const { sent, env: other } = outbox();
		const invite = (target_email: string, more: object = {}, variables: Partial<Env> = {}) =>
			here("POST", "/invites", {
				body: { target_email, ...more },
				env: { ...other, ...variables },
			});
		await invite("one@invited.test");
		await invite("two@invited.test", { send_email: false });
		await invite("three@invited.test", {}, { MAIL_FROM: "" });
		await invite("four@invited.test", {}, { APP_URL: "" });
		expect(sent).toMatchObject([{ from: { email: FROM }, to: "one@invited.test" }]);
	});

	test("the mail of an invite has its inviter, level, message and expiry, and a link to APP_URL", async () => {
		const { owner, here } = await world("Acme");
		const { sent, env: other } = outbox();
		const invite = (level: number) =>
			here("POST", "/invites", {
				body: {
					target_email: `${v7()}@invited.test`,
					level,
					message: "Hello,\nlook at this.",
				},
				env: { ...other, APP_URL: "https://app.example.com/" },
			});
		const { created_at } = (await invite(8)).body;
		await db.update(users).set({ first_name: "" }).where(eq(users.id, owner.id));
		await invite(1);
		const [first, second] = sent;
		expect(first).toMatchObject({
			subject: "Test invites you to Acme",
			replyTo: { name: "Test", email: owner.email },
		});
		const end = new Date(Date.parse(created_at) + 3 * 86_400_000);
		const time = end.toISOString().slice(11, 16);
		const text = first?.text;
		expect(text).toContain(
			`Test (${owner.email}) invites you to join Acme on Tenantry as an admin.\n\n> Hello,\n> look at this.\n\nThe link works once, until ${end.getUTCDate()} `,
		);
		expect(text).toContain(` at ${time} UTC.`);
		expect(text).toMatch(/\nJoin Acme: https:\/\/app\.example\.com\/invites\/[\w-]{43}\n/);
		expect(text).not.toContain("tenantry.test/invites");
		expect(second?.text).toContain(
			`${owner.email} invites you to join Acme on Tenantry as a member.`,
		);
	});

	test("a new member is announced to all other admins, unless the organization turned that off", async () => {
		for (const wanted of [true, false]) {
			const { here, id, owner } = await world();
			const admin = await join(id, 8);
			const away = await join(id, 8);
			await join(id, 1);
			await db.update(users).set({ is_active: false }).where(eq(users.id, away.id));
			await here("PATCH", "", {
				body: { is_member_join_email_enabled: wanted },
			});
			const someone = await person();
			const { body } = await here("POST", "/invites", {
				body: { target_email: someone.email, level: 8, send_email: false },
			});
			const { sent, env: other } = outbox();
			const token = body.accept_url.split("/").at(-1);
			await call("POST", `/api/invites/${token}/accept`, {
				key: someone.key,
				env: other,
			});
			expect(sent.map(({ to }) => to).toSorted()).toEqual(
				wanted ? [owner.email, admin.email].toSorted() : [],
			);
		}
	});
});
