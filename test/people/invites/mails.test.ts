import { createScheduledController } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { organizationId } from "../../../src/db/schema/organizations.ts";
import { inviteMails, members } from "../../../src/db/schema/people.ts";
import { orNotFound } from "../../../src/http/errors.ts";
import worker from "../../../src/worker.ts";
import {
	call,
	cost,
	db,
	join,
	keyFor,
	racing,
	serviceAccount,
	world,
} from "../../support/world.ts";
import { address, createInvite, DAY, type Home } from "./support.ts";

const HOUR = 3_600_000;

const throttled = {
	status: 429,
	body: { type: "throttled_error", code: "throttled", attr: null },
};
const mailLimit = (n: number) => ({ INVITE_MAILS_PER_HOUR: String(n) });
const several = (n: number, more: object = {}) =>
	Array.from({ length: n }, () => ({ target_email: address(), ...more }));

/** Invites an address to the organization. */
const invite = ({ here }: Pick<Home, "here">, target_email = address(), options: object = {}) =>
	here("POST", "/invites", { body: { target_email }, ...options });

/** Expects that `n` of the requests were accepted, and the others throttled. */
function expectAccepted(answers: { status: number }[], n: number) {
	const rejected = answers.filter(({ status }) => status !== 201);
	expect(answers.length - rejected.length).toBe(n);
	for (const answer of rejected) expect(answer).toMatchObject(throttled);
}

/** Makes mails `ms` older. */
const ageMails = (condition: Parameters<ReturnType<typeof db.delete>["where"]>[0], ms: number) =>
	db
		.update(inviteMails)
		.set({ sent_at: new Date(Date.now() - ms).toISOString() })
		.where(condition);

const isOf = ({ id }: { id: string }) => eq(inviteMails.organization_id, organizationId(id));
const isTo = (stranger: string) => eq(inviteMails.stranger, stranger);

describe("an organization's mails", () => {
	test("have an hourly limit, to which each invite of a bulk request counts unless it isn't mailed", async () => {
		const [home, other] = [await world(), await world()];
		const send = (n: number, more: object = {}, { here } = home) =>
			here("POST", "/invites/bulk", { body: several(n, more), env: mailLimit(5) });
		expect((await send(3)).status).toBe(200);
		const rejected = await send(3);
		expect(rejected).toMatchObject(throttled);
		expect(cost(rejected).trips).toBe(1);
		const wait = Number(rejected.headers.get("retry-after"));
		expect(wait).toBeGreaterThan(3500);
		expect(wait).toBeLessThanOrEqual(3600);
		expect(rejected.body.detail).toBe(
			`Request was throttled. Expected available in ${wait} seconds.`,
		);
		const last = await send(2);
		expect([last.status, cost(last).trips]).toEqual([200, 2]);
		expect(await send(1)).toMatchObject(throttled);
		expect((await send(20, { send_email: false })).status).toBe(200);
		expect((await home.here("GET", "/invites")).body.count).toBe(25);
		// Another organization has its own limit.
		expect((await send(5, {}, other)).status).toBe(200);
		await ageMails(isOf(home), HOUR);
		expect((await send(5)).status).toBe(200);
	});

	test("are rejected with the time until enough mails are an hour old", async () => {
		const home = await world();
		const send = (n: number) =>
			home.here("POST", "/invites/bulk", { body: several(n), env: mailLimit(4) });
		await send(4);
		const mails = await db.select().from(inviteMails).where(isOf(home));
		for (const [i, { invite_id }] of mails.entries())
			await ageMails(eq(inviteMails.invite_id, invite_id), i * 600_000);
		const minutes = async (n: number) =>
			Math.round(Number((await send(n)).headers.get("retry-after")) / 60);
		expect([await minutes(1), await minutes(2), await minutes(4), await minutes(5)]).toEqual([
			30, 40, 60, 60,
		]);
	});

	test("still count when their invites are replaced or deleted", async () => {
		const home = await world();
		const target_email = address();
		const send = () => invite(home, target_email, { env: mailLimit(2) });
		await home.here("DELETE", `/invites/${(await send()).body.id}`);
		expect((await send()).status).toBe(201);
		expect(await send()).toMatchObject(throttled);
		expect((await home.here("GET", "/invites")).body.count).toBe(1);
	});

	test("don't replace the older invite if the limit is reached between the check and the write", async () => {
		const home = await world();
		const old = await createInvite(home);
		const env = mailLimit(1);
		const other = () => invite(home, address(), { env });
		const rejected = await invite(home, old.target_email, { env: { ...env, ...racing(other) } });
		expect(rejected).toMatchObject(throttled);
		expect((await home.here("GET", "/activity_log?activity=created")).body.count).toBe(2);
		expect((await call("GET", `/api/invites/${old.token}`)).status).toBe(200);
	});
});

describe("mails over all organizations", () => {
	/** Another organization of the same owner. */
	async function second({ ask }: Home) {
		const { body } = await ask("POST", "/api/organizations", { body: { name: "Second" } });
		return {
			id: String(body.id),
			here: (method: string, path: string, options: object = {}) =>
				ask(method, `/api/organizations/${body.id}${path}`, options),
		};
	}

	test("have an hourly limit for each sender, also if requests race, and after an organization was deleted", async () => {
		const home = await world();
		const [other, third] = [await second(home), await second(home)];
		const env = mailLimit(5);
		const answers = await Promise.all(
			Array.from({ length: 12 }, (_, i) => invite(i % 2 ? other : home, address(), { env })),
		);
		expectAccepted(answers, 5);
		await other.here("DELETE", "");
		const rejected = await invite(third, address(), { env });
		expect(rejected).toMatchObject(throttled);
		expect(Number(rejected.headers.get("retry-after"))).toBeGreaterThan(3500);
		// Another sender of one of the organizations isn't concerned, up to that organization's limit.
		const { key } = await join(third.id, 8);
		expect((await invite(third, address(), { key, env })).status).toBe(201);
	});

	test("of service accounts count as those of the member who created the account", async () => {
		const home = await world();
		const other = await second(home);
		const env = mailLimit(2);
		const account = await serviceAccount({ ...other, owner: home.owner });
		const key = await keyFor(account.user_id, { scoped_organizations: [other.id] });
		const byAccount = () => invite(other, address(), { env, key });
		expect((await byAccount()).status).toBe(201);
		expect((await invite(home, address(), { env })).status).toBe(201);
		expect(await invite(home, address(), { env })).toMatchObject(throttled);
		expect(await byAccount()).toMatchObject(throttled);
		// Once the creator has left, they don't share a limit.
		await join(other.id, 15);
		await db.delete(members).where(eq(members.user_id, home.owner.id));
		expect((await byAccount()).status).toBe(201);
	});

	test("to an address are at most ten a day from strangers, also if requests race; the others can hand links over", async () => {
		const homes = await Promise.all(Array.from({ length: 4 }, () => world()));
		const target_email = address();
		const answers = await Promise.all(
			Array.from({ length: 16 }, (_, i) => invite(orNotFound(homes[i % 4]), target_email)),
		);
		expectAccepted(answers, 10);
		const home = await world();
		const rejected = await invite(home, target_email.toUpperCase());
		expect(rejected).toMatchObject(throttled);
		expect(cost(rejected).trips).toBe(1);
		const wait = Number(rejected.headers.get("retry-after"));
		expect(wait).toBeGreaterThan(86_300);
		expect(wait).toBeLessThanOrEqual(86_400);
		// All or nothing, and other addresses aren't concerned.
		const bulk = (emails: string[], more: object = {}) =>
			home.here("POST", "/invites/bulk", {
				body: emails.map((target_email) => ({ target_email, ...more })),
			});
		expect(await bulk([address(), target_email])).toMatchObject(throttled);
		expect((await home.here("GET", "/invites")).body.count).toBe(0);
		expect((await bulk([address(), address()])).status).toBe(200);
		expect((await bulk([target_email], { send_email: false })).body.accept_url).toBeDefined();
		await ageMails(isTo(target_email), DAY - 60_000);
		expect((await invite(home, target_email)).headers.get("retry-after")).toMatch(/^(59|60)$/);
		await ageMails(isTo(target_email), DAY);
		expect((await invite(home, target_email)).status).toBe(201);
	});

	test("from people who share an organization with the address don't count, and aren't limited by those of strangers", async () => {
		const [home, stranger] = [await world(), await world()];
		const other = await second(home);
		const known = await join(home.id, 1);
		for (let i = 0; i < 12; i++) expect((await invite(other, known.email)).status).toBe(201);
		for (let i = 0; i < 10; i++) expect((await invite(stranger, known.email)).status).toBe(201);
		expect(await invite(stranger, known.email)).toMatchObject(throttled);
		expect((await invite(other, known.email)).status).toBe(201);
		await db.delete(members).where(eq(members.user_id, known.id));
		expect(await invite(other, known.email)).toMatchObject(throttled);
	});

	test("are forgotten after a day, by the schedule", async () => {
		const [home, old, young] = [await world(), address(), address()];
		for (const each of [old, young]) await invite(home, each);
		await ageMails(isTo(old), DAY + HOUR);
		const scheduledTime = new Date(Math.floor(Date.now() / HOUR) * HOUR);
		await worker.scheduled(createScheduledController({ cron: "* * * * *", scheduledTime }), env);
		const left = await db
			.select({ stranger: inviteMails.stranger })
			.from(inviteMails)
			.where(isOf(home));
		expect(left).toEqual([{ stranger: young }]);
	});
});
