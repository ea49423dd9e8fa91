import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { v7 } from "uuid";
import { describe, expect, test, vi } from "vitest";
import { users } from "../../src/db/schema/people.ts";
import { type Mail, send, unlinked } from "../../src/outbound/mail.ts";
import { digests, outbox } from "../support/mail.ts";
import { call, db, join, person, world } from "../support/world.ts";

const FROM = "tenantry@example.com";

const mail = (text = "Some text."): Mail => ({
	to: "you@example.org",
	subject: unlinked`Hello`,
	paragraphs: [unlinked`${text}`],
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
	await send({ ...env, EMAIL }, mail("a secret"));
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
		const { owner, here, id } = await world("https://evil.example");
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
		]);
		const joined = await digests({ id }, Date.now());
		expect(joined.map(({ subject }) => subject)).toEqual([
			"1 new member in https: //evil. example",
		]);
		for (const { text, html, replyTo } of [...sent, ...joined]) {
			const hrefs = [...html.matchAll(/href="([^"]*)"/g)].map(([, href]) => String(href));
			const ours = `${env.APP_URL}/console/${id}/`;
			expect(hrefs.every((href) => href === link || href.startsWith(ours))).toBe(true);
			const written = hrefs.reduce(
				(rest, href) => rest.replaceAll(href, ""),
				JSON.stringify([text, html, replyTo?.name]).replaceAll(target_email, ""),
			);
			expect(written).toContain("evil. example");
			expect(written).not.toMatch(/evil\.e|www\.e|@ev|:\/\/|555 1234/);
		}
	});

	/** Accepts an invite of the organization as somebody new. */
	async function accepted({ here }: Pick<Awaited<ReturnType<typeof world>>, "here">, level = 1) {
		const someone = await person();
		const { body } = await here("POST", "/invites", {
			body: { target_email: someone.email, level, send_email: false },
		});
		const { sent, env: other } = outbox();
		const token = body.accept_url.split("/").at(-1);
		await call("POST", `/api/invites/${token}/accept`, { key: someone.key, env: other });
		expect(sent).toEqual([]);
		return someone;
	}

	test("a new member is announced to all other admins, unless the organization turned that off", async () => {
		for (const wanted of [true, false]) {
			const { here, id, owner } = await world();
			const admin = await join(id, 8);
			const away = await join(id, 8);
			await join(id, 1);
			await db.update(users).set({ is_active: false }).where(eq(users.id, away.id));
			await here("PATCH", "", { body: { is_member_join_email_enabled: wanted } });
			await accepted({ here }, 8);
			const mails = await digests({ id }, Date.now());
			expect(mails.map(({ to }) => to).toSorted()).toEqual(
				wanted ? [owner.email, admin.email].toSorted() : [],
			);
		}
	});

	test("those who join within an hour are in one mail, once each", async () => {
		const { here, id, owner } = await world();
		const start = Date.now();
		const first = await accepted({ here });
		const [mail] = await digests({ id }, start + 1000);
		expect(mail).toMatchObject({ to: owner.email, subject: "1 new member in Acme" });
		expect(mail?.text).toContain(
			`\nAccepted an invite.\nSee the member: ${env.APP_URL}/console/${id}/`,
		);
		const others = [await accepted({ here }), await accepted({ here }), await accepted({ here })];
		expect(await digests({ id }, start + 60_000)).toEqual([]);
		const later = await digests({ id }, start + 3_700_000);
		expect(later.map(({ subject }) => subject)).toEqual(["3 new members in Acme"]);
		for (const { email } of others) expect(later[0]?.text).toContain(email);
		expect(later[0]?.text).not.toContain(first.email);
		expect(await digests({ id }, start + 8_000_000)).toEqual([]);
	});
});
