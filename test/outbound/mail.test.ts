import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { v7 } from "uuid";
import { describe, expect, test, vi } from "vitest";
import { users } from "../../src/db/schema/users.ts";
import { compose, type Mail, quotation, send, unlinked } from "../../src/outbound/mail.ts";
import { outbox } from "../support/mail.ts";
import { call, db, join, person, world } from "../support/world.ts";

const FROM = "tenantry@example.com";

const mail = (more: Partial<Mail> = {}): Mail => ({
	to: "you@example.org",
	subject: unlinked`Hello`,
	paragraphs: [unlinked`Some text.`],
	...more,
});

describe("a message", () => {
	test("has the same content as text and as HTML", async () => {
		const url = "https://app.example.com/invites/x";
		const { text, html, ...headers } = await compose(
			FROM,
			mail({ paragraphs: [unlinked`Grüße 🦔`, unlinked`a & b`], link: { label: "Join", url } }),
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
				subject: unlinked`x${evil}`,
				reply_to: { name: unlinked`x${evil}`, address: "me@example.org" },
			}),
		);
		expect(replyTo).toEqual({ name: subject, email: "me@example.org" });
		expect(subject).toMatch(/^x[^\p{Cc}\p{Zl}\p{Zp}\u202e]*$/u);
	});

	test("keeps the line breaks of a message, and no other control characters", async () => {
		const { text, html } = await compose(
			FROM,
			mail({ paragraphs: [quotation("one\r\ntwo\rthree\0\u001b[31m\n\u202efour")] }),
		);
		expect(text).toBe("> one\n> two\n> three [31m\n> four\n");
		expect(html).toContain(">&gt; one\n&gt; two\n&gt; three [31m\n&gt; four</p>");
	});

	test.each([
		["https://evil.example/a?b=c", "https: //evil. example/a?b=c"],
		["www.evil.example", "www. evil. example"],
		["evil.example:8080/x", "evil. example: 8080/x"],
		["x@evil.example", "x@ evil. example"],
		["mailto:x", "mailto: x"],
		["192.0.2.7", "192. 0. 2. 7"],
		["\\\\evil\\share", "\\ \\ evil\\ share"],
		["пример.рф", "пример. рф"],
		["例え。テスト", "例え。 テスト"],
		["evil．example", "evil． example"],
		["evil｡example", "evil｡ example"],
		["evil\u2024example", "evil\u2024 example"],
		["https：//evil＠x", "https： //evil＠ x"],
		["evil.\u200bexample", "evil. \u200bexample"],
		["evil.\u00a0example", "evil. \u00a0example"],
		["evil.\nexample", "evil. example"],
		["+1 (800) 555-1234", "+1·800·555·123·4"],
		["8005551234", "800·555·123·4"],
		["８００ ５５５ １２３４", "８００·５５５·１２３·４"],
		["2026-12-01 800-555-1234", "2026-12·01·800·555·123·4"],
		["Dr. Anna, 2026-12-01 10:30: AT&T / Bell.", "Dr. Anna, 2026-12-01 10:30: AT&T / Bell."],
	])("makes no link of what people wrote: %j", async (written, shown) => {
		const { text, html, subject } = await compose(
			FROM,
			mail({ subject: unlinked`${written}`, paragraphs: [unlinked`By ${written} here`] }),
		);
		expect([subject, text]).toEqual([shown, `By ${shown} here\n`]);
		const [, paragraph = ""] = /<p[^>]*>(.*)<\/p>/.exec(html) ?? [];
		expect(paragraph.replaceAll("&amp;", "&")).toBe(`By ${shown} here`);
	});

	test("escapes markup in text of users", async () => {
		const { html } = await compose(
			FROM,
			mail({
				paragraphs: [unlinked`${"<script>alert(1)</script>"}`],
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
	await send({ ...env, EMAIL }, mail({ paragraphs: [unlinked`a secret`] }));
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
			subject: "You are invited to join an organization on Tenantry",
			replyTo: { name: "Test", email: owner.email },
		});
		const end = new Date(Date.parse(created_at) + 3 * 86_400_000);
		const time = end.toISOString().slice(11, 16);
		const text = first?.text;
		expect(text).toContain(
			`Test (${owner.email}) invites you to join Acme on Tenantry as an admin.\n\n> Hello,\n> look at this.\n\nThe link works once, until ${end.getUTCDate()} `,
		);
		expect(text).toContain(` at ${time} UTC.`);
		expect(text).toMatch(/\nOpen the invite: https:\/\/app\.example\.com\/invites\/[\w-]{43}\n/);
		expect(text).not.toContain("tenantry.test/invites");
		expect(second?.text).toContain(
			`${owner.email} invites you to join Acme on Tenantry as a member.`,
		);
	});

	test("no name or message makes a link, and none is in a subject", async () => {
		const { owner, here } = await world("https://evil.example");
		const first_name = "www.evil.example";
		const names = { first_name, last_name: "me@evil.example" };
		await call("PATCH", "/api/users/@me", { key: owner.key, body: names });
		const { sent, env: other } = outbox();
		const target_email = `${v7()}@invited.test`;
		const message = "evil.example\n+1 800 555 1234";
		await here("POST", "/invites", {
			body: { target_email, first_name, message },
			env: other,
		});
		const [, link = ""] = /(https?:\S+)\n$/.exec(sent[0]?.text ?? "") ?? [];
		await call("POST", link.replace(/.*(?=\/invites)/, "/api").concat("/accept"), {
			body: names,
			env: other,
		});
		expect(sent.map(({ to, subject }) => [to, subject])).toEqual([
			[target_email, "You are invited to join an organization on Tenantry"],
			[owner.email, "A new member has joined https: //evil. example"],
		]);
		for (const { text, html, replyTo } of sent) {
			const hrefs = [...html.matchAll(/href="([^"]*)"/g)].map(([, href]) => href);
			expect(hrefs.every((href) => href === link)).toBe(true);
			const written = JSON.stringify([text, html, replyTo?.name]).replaceAll(link, "");
			expect(written).toContain("evil. example");
			expect(written).not.toMatch(/evil\.e|www\.e|@ev|:\/\/|555 1234/);
		}
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
