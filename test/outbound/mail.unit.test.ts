import { describe, expect, test } from "vitest";
import { compose, type Mail, quotation, unlinked } from "../../src/outbound/mail.ts";

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
			`>Grüße 🦔</p><p style="white-space: pre-line">a &amp; b</p><p><a href="${url}"><strong>Join</strong></a></p>`,
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
