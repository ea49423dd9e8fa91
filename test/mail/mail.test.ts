import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { v7 } from "uuid";
import { describe, expect, test, vi } from "vitest";
import { users } from "../../src/db/schema/users.ts";
import { compose, type Mail, send } from "../../src/mail/mail.ts";
import { decoded, headers, outbox } from "../support/mail.ts";
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
		const message = await compose(
			FROM,
			mail({ paragraphs: ["Grüße 🦔", "a & b"], link: { label: "Join", url } }),
		);
		expect(headers(message)).toEqual(
			expect.arrayContaining([
				"From: Tenantry <tenantry@example.com>",
				"To: you@example.org",
				"Subject: Hello",
				"MIME-Version: 1.0",
				expect.stringMatching(/^Content-Type: multipart\/alternative/),
			]),
		);
		const [, text, html] = decoded(message).split(/Content-Type: text\//);
		expect(text).toContain("Grüße 🦔\r\n\r\na & b\r\n\r\nJoin: https://app.example.com/invites/x");
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
	])("takes no header from what people wrote: %j", async (evil) => {
		const names = headers(await compose(FROM, mail())).map((line) => line.split(":")[0]);
		const message = await compose(
			FROM,
			mail({
				subject: `x${evil}`,
				reply_to: { name: `x${evil}`, address: "me@example.org" },
			}),
		);
		const now = headers(message).map((line) => line.split(":")[0]);
		expect(now.toSorted()).toEqual([...names, "Reply-To"].toSorted());
		// biome-ignore lint/suspicious/noControlCharactersInRegex: none may be left
		expect(message).not.toMatch(/[\0-\x09\x0b\x0c\x0e-\x1f]/);
	});

	test("keeps the line breaks of a text, and no other control characters", async () => {
		const message = await compose(
			FROM,
			mail({
				paragraphs: ["one\r\ntwo\rthree\0\u001b[31m\n\u202efour"],
				link: {
					label: "Join\n\nhttps://evil.example",
					url: "https://x.example",
				},
			}),
		);
		const [, text = "", html = ""] = decoded(message).split(/Content-Type: text\//);
		expect(text).toContain("one\r\ntwo\r\nthree [31m\r\nfour\r\n\r\n");
		expect(text).toContain("Join https://evil.example: https://x.example\r\n");
		expect(html).toContain(">one\r\ntwo\r\nthree [31m\r\nfour</p>");
	});

	test("escapes markup in text of users", async () => {
		const message = decoded(
			await compose(
				FROM,
				mail({
					paragraphs: ["<script>alert(1)</script>"],
					link: { label: "<b>", url: 'https://x.example/"><img>' },
				}),
			),
		);
		const html = message.split("text/html")[1] ?? "";
		expect(html).not.toMatch(/<script|<b>|<img/);
	});

	test("keeps its lines short, however long the text", async () => {
		const message = await compose(
			FROM,
			mail({ subject: "é".repeat(300), paragraphs: ["x".repeat(5000)] }),
		);
		for (const line of message.split("\r\n")) expect(line.length).toBeLessThanOrEqual(78);
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
	test("for an invite to its address, unless send_email is false or mail isn't configured", async () => {
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
		expect(sent).toEqual([{ from: FROM, to: "one@invited.test" }]);
	});

	test("for an invite with its inviter, level, message and expiry, and a link to APP_URL", async () => {
		const { owner, here } = await world("Acme");
		const { messages, env: other } = outbox();
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
		const [first = "", second = ""] = messages;
		expect(headers(first)).toEqual(
			expect.arrayContaining([
				"Subject: Test invites you to Acme",
				`Reply-To: Test <${owner.email}>`,
			]),
		);
		const end = new Date(Date.parse(created_at) + 3 * 86_400_000);
		const time = end.toISOString().slice(11, 16);
		const text = decoded(first).replaceAll("\r\n", "\n");
		expect(text).toContain(
			`Test (${owner.email}) invites you to join Acme on Tenantry as an admin.\n\nHello,\nlook at this.\n\nThe link works once, until ${end.getUTCDate()} `,
		);
		expect(text).toContain(` at ${time} UTC.`);
		expect(text).toMatch(/\nJoin Acme: https:\/\/app\.example\.com\/invites\/[\w-]{43}\n/);
		expect(text).not.toContain("tenantry.test/invites");
		expect(decoded(second)).toContain(
			`${owner.email} invites you to join Acme on Tenantry as a member.`,
		);
	});

	test("to each admin but the new member when somebody joins, unless the organization turned that off", async () => {
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
