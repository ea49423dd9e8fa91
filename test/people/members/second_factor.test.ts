import { eq, inArray } from "drizzle-orm";
import { expect, test } from "vitest";
import { users } from "../../../src/db/schema/people.ts";
import { outbox } from "../../support/mail.ts";
import { eventually } from "../../support/time.ts";
import { cost, db, join, world } from "../../support/world.ts";

async function home() {
	const here = await world();
	const people = [await join(here.id, 1), await join(here.id, 8), await join(here.id, 1)];
	await db
		.update(users)
		.set({ is_email_verified: true })
		.where(
			inArray(
				users.id,
				people.map(({ id }) => id),
			),
		);
	const mails = outbox();
	const env = { ...mails.env, APP_URL: "https://app.tenantry.test" };
	const remind = (key?: string) =>
		here.here("POST", "/members/remind_two_factor", { env, ...(key && { key }) });
	return { ...here, people, mails, remind };
}

test("members without a second factor are told once a day, and the log says so", async () => {
	const { people, mails, remind, here } = await home();
	const [one, two, three] = people;
	if (!one || !two || !three) throw new Error("Somebody is missing.");
	await db.update(users).set({ is_2fa_enabled: true }).where(eq(users.id, three.id));
	const answers = await Promise.all([remind(), remind()]);
	expect(answers.map(({ status }) => status).sort()).toEqual([202, 429]);
	const told = answers.find(({ status }) => status === 202);
	if (!told) throw new Error("Nobody was told.");
	expect(told.body).toEqual({ mails: 2 });
	expect(cost(told)).toMatchObject({ trips: 2 });
	const sent: { to: string; text: string }[] = [];
	await eventually(async () => {
		sent.push(...mails.take());
		expect(sent).toHaveLength(2);
	});
	expect(sent.map(({ to }) => to).sort()).toEqual([one.email, two.email].sort());
	expect(sent[0]?.text).toContain("https://app.tenantry.test/console/account");
	const { results } = (await here("GET", "/activity_log?activity=two_factor_reminded")).body;
	expect(results).toMatchObject([{ scope: "Organization", detail: { trigger: { mails: 2 } } }]);
});

test("only admins tell members, and nobody is told if all have one", async () => {
	const { people, remind, mails } = await home();
	const member = people[0];
	expect((await remind(member?.key)).status).toBe(403);
	const stranger = await world();
	expect((await remind(stranger.owner.key)).status).toBe(403);
	await db
		.update(users)
		.set({ is_2fa_enabled: true })
		.where(
			inArray(
				users.id,
				people.map(({ id }) => id),
			),
		);
	expect((await remind()).body).toEqual({ mails: 0 });
	expect(mails.take()).toEqual([]);
});
