import { createScheduledController } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { and, eq } from "drizzle-orm";
import { v7 } from "uuid";
import { describe, expect, test, vi } from "vitest";
import { sendDueDigests as tick } from "../../../src/activity/notifications/digest.ts";
import { activityLog } from "../../../src/db/schema/activity_log.ts";
import { alerts, notifications } from "../../../src/db/schema/notifications.ts";
import {
	domains,
	organizationId,
	organizations,
	projects,
} from "../../../src/db/schema/organizations.ts";
import { members, projectMembers, users } from "../../../src/db/schema/people.ts";
import worker from "../../../src/worker.ts";
import { RETOTAL } from "../../support/activity.ts";
import { metered } from "../../support/events.ts";
import { outbox } from "../../support/mail.ts";
import { stopClock } from "../../support/time.ts";
import { db, join, times, world } from "../../support/world.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

type Event = Partial<typeof activityLog.$inferInsert>;

/** An organization with a stopped clock, a mailbox, and functions that write events and tick. */
async function home(name = "Acme") {
	stopClock();
	const here = await world(name);
	const mails = outbox();
	const start = Date.now();
	const happen = (event: Event) =>
		db.insert(activityLog).values({
			organization_id: organizationId(here.id),
			project_id: here.project,
			is_system: true,
			activity: "failed",
			scope: "PluginJob",
			item_id: "1",
			name: "sync",
			trigger: { plugin_config_id: 7, error: "It broke." },
			...event,
		});
	/** A run of an export that failed. */
	const fail = (batch_export_id: string, error = "No.") =>
		happen({
			scope: "BatchExportRun",
			item_id: v7(),
			name: batch_export_id,
			trigger: { run_id: "run", batch_export_id, error },
		});
	/** The mails that a tick after so many minutes sends for this organization. */
	const mailed = async (minutes: number, more: Partial<Env> = {}) => {
		await tick({ ...env, ...mails.env, ...more }, start + minutes * MINUTE);
		return mails.take().filter(({ text }) => text.includes(here.id));
	};
	const set = (type: string, recipients: unknown) =>
		here.here("PATCH", "/notifications", { body: { subscriptions: [{ type, recipients }] } });
	const waiting = () =>
		db
			.select()
			.from(alerts)
			.where(eq(alerts.organization_id, organizationId(here.id)));
	return { ...here, mails, start, happen, fail, mailed, set, waiting };
}

/** The events that a mail lists, by the words of their errors. */
const listed = (mails: { text: string }[]) => mails.map(({ text }) => text.match(/error \d+/g));

describe("a digest", () => {
	test("tells admins at once what happened, with a link, as text and as HTML", async () => {
		const { id, owner, happen, mailed } = await home("Ac<me>");
		const admin = await join(id, 8);
		await join(id, 1);
		await happen({
			scope: "BatchExportRun",
			item_id: "run-1",
			name: "Orders",
			created_at: "2026-01-01T13:01:00.000Z",
			trigger: {
				run_id: "run-1",
				batch_export_id: "export-1",
				data_interval_start: "2026-01-01T12:00:00.000Z",
				data_interval_end: "2026-01-01T13:00:00.000Z",
				error: 'example.com:443 answered 403: "No"',
				next_step: "Fix the cause, then retry the run.",
			},
		});
		const mails = await mailed(0, { APP_URL: "https://app.example.com/" });
		expect(mails.map(({ to }) => to).sort()).toEqual([owner.email, admin.email].sort());
		const [mail] = mails;
		expect(mail?.subject).toBe("1 run of batch exports failed in Ac<me>");
		expect(mail?.text).toContain(`Since the last mail about this, in Ac<me> on Tenantry:

Orders – 1 January 2026 at 13:01 UTC
Rows of 1 January 2026, 12:00 to 13:00 UTC: example. com: 443 answered 403: "No" Fix the cause, then retry the run.
See the run: https://app.example.com/console/${id}/batch_exports/export-1/runs/run-1

Some or all rows of these windows are missing from the destination. Fix the cause, then retry the runs.

What “Orders” hasn't delivered:
Retry it: https://app.example.com/console/${id}/batch_exports/export-1

You get this mail because Ac<me> sends you this notification: Run failed (batch_export_run.failed). Its admins choose who gets which.
Notifications: https://app.example.com/console/${id}/notifications
`);
		expect(mail?.html).toContain("in Ac&lt;me&gt; on Tenantry:</p>");
	});

	test("has numbers of rows as they are", async () => {
		const { happen, mailed, set } = await home();
		await set("batch_export_run.completed", "admins");
		await happen({
			scope: "BatchExportRun",
			activity: "completed",
			trigger: { run_id: "run", batch_export_id: "export", rows: 12_345_678 },
		});
		const [mail] = await mailed(0);
		expect(mail?.text).toContain(": 12345678 rows\n");
	});

	test("of a type is sent at most once an hour, and lists each event once", async () => {
		const { happen, mailed, set, waiting } = await home();
		await set("plugin_job.failed", "admins");
		const fail = (n: number) =>
			happen({ item_id: `${n}`, trigger: { plugin_config_id: n % 2, error: `error ${n}` } });
		await fail(1);
		expect(listed(await mailed(0))).toEqual([["error 1"]]);
		await fail(2);
		await fail(3);
		expect(await mailed(1)).toEqual([]);
		await fail(4);
		expect(await mailed(59)).toEqual([]);
		expect(listed(await mailed(60))).toEqual([["error 2", "error 3", "error 4"]]);
		expect(await mailed(120)).toEqual([]);
		await fail(5);
		expect(listed(await mailed(121))).toEqual([["error 5"]]);
		expect(await mailed(200)).toEqual([]);
		expect(await waiting()).toEqual([]);
	});

	test("of one type doesn't delay one of another", async () => {
		const { fail, happen, mailed } = await home();
		await fail("one");
		expect(await mailed(0)).toHaveLength(1);
		await happen({ scope: "Domain", activity: "unverified", trigger: { error: "It is gone." } });
		expect((await mailed(1)).map(({ subject }) => subject)).toEqual([
			"1 domain has lost the DNS record that verifies it in Acme",
		]);
	});

	test("lists 20 events and counts the others", async () => {
		const { happen, mailed } = await home();
		for (let n = 1; n <= 57; n += 1)
			await happen({ scope: "Domain", activity: "unverified", trigger: { error: `error ${n}.` } });
		const [mail] = await mailed(0);
		expect(mail?.subject).toBe("57 domains have lost the DNS record that verifies them in Acme");
		expect(mail?.text.match(/error \d+/g)).toHaveLength(20);
		expect(mail?.text).toContain("\n\nAnd 37 more.\n\n");
	});

	test("says so if there were more than a thousand events, and none of them is told again", async () => {
		const { id, mailed } = await home();
		await times(1002, (i) =>
			db.insert(activityLog).values({
				organization_id: organizationId(id),
				is_system: true,
				activity: "unverified",
				scope: "Domain",
				item_id: "d",
				trigger: { error: `error ${i}` },
			}),
		);
		const [mail] = await mailed(0);
		expect(mail?.subject).toMatch(/^More than 1000 domains have/);
		expect(mail?.text).toContain("And more than 980 others.");
		expect(await mailed(60)).toEqual([]);
	});

	test("about an export is sent once a day, about another one as soon as the hour is over", async () => {
		const { fail, mailed } = await home();
		await fail("orders", "error 1");
		expect(listed(await mailed(0))).toEqual([["error 1"]]);
		await fail("orders", "error 2");
		expect(await mailed(60)).toEqual([]);
		await fail("visits", "error 3");
		expect(listed(await mailed(120))).toEqual([["error 2", "error 3"]]);
		await fail("orders", "error 4");
		expect(await mailed(24 * 60)).toEqual([]);
		expect(await mailed(26 * 60 - 1)).toEqual([]);
		expect(listed(await mailed(26 * 60))).toEqual([["error 4"]]);
	});

	test("about an audit stream is sent once a day, about a webhook as soon as the hour is over", async () => {
		const { happen, mailed } = await home();
		const fail = async (n: number) => {
			const trigger = { reason: "It is gone.", error: `error ${n}` };
			for (const kind of [
				{ scope: "AuditStream", activity: "failed" },
				{ scope: "Webhook", activity: "disabled" },
			])
				await happen({ ...kind, item_id: "one", project_id: null, trigger });
		};
		const subjects = async (minutes: number) =>
			(await mailed(minutes)).map(({ subject }) => subject).sort();
		await fail(1);
		expect(await subjects(0)).toEqual([
			"1 audit stream fails in Acme",
			"1 webhook was disabled in Acme",
		]);
		await fail(2);
		expect(await subjects(59)).toEqual([]);
		expect(await subjects(60)).toEqual(["1 webhook was disabled in Acme"]);
		expect(await subjects(24 * 60 - 1)).toEqual([]);
		expect(await subjects(24 * 60)).toEqual(["1 audit stream fails in Acme"]);
	});

	test("isn't sent about what people do themselves", async () => {
		const { here, project, mailed } = await home();
		const { body } = await here("POST", "/batch_exports", {
			body: {
				name: "Mine",
				interval: "hour",
				destination: { type: "NoOp", config: {} },
				project,
			},
		});
		await here("POST", `/batch_exports/${body.id}/pause`);
		expect(await mailed(0)).toEqual([]);
	});

	test("lists no pause by a person among those of the system", async () => {
		const { happen, mailed } = await home();
		const pause = (error: string, is_system = true) =>
			happen({ scope: "BatchExport", activity: "paused", is_system, trigger: { error } }).then(() =>
				db.run(RETOTAL),
			);
		await pause("error 1");
		await pause("error 2", false);
		await pause("error 3");
		expect(listed(await mailed(0))).toEqual([["error 1", "error 3"]]);
	});

	test("hides line breaks in what it quotes, and cuts long errors", async () => {
		const { happen, mailed } = await home();
		await happen({
			scope: "Domain",
			activity: "unverified",
			name: "a\r\nb",
			trigger: { error: `x\n\n${"y".repeat(400)}` },
		});
		const [mail] = await mailed(0);
		expect(mail?.text).toMatch(/\na b – .* UTC\nMissing since an unknown time: x y{298}…\n/);
	});
});

describe("the recipients of a digest are", () => {
	const to = (mails: { to: string }[]) => mails.map(({ to }) => to).sort();

	test("the listed members, while they are active members", async () => {
		const { id, owner, happen, mailed, set } = await home();
		const [one, two, away] = [await join(id, 1), await join(id, 8), await join(id, 8)];
		await set("plugin_job.failed", [one.uuid, two.uuid, away.uuid]);
		await db.update(users).set({ is_active: false }).where(eq(users.id, away.id));
		await happen({});
		expect(to(await mailed(0))).toEqual([one.email, two.email].sort());
		await db.delete(members).where(eq(members.user_id, two.id));
		await happen({});
		expect(to(await mailed(60))).toEqual([one.email]);
		await db.delete(members).where(eq(members.user_id, one.id));
		await happen({});
		expect(to(await mailed(120))).toEqual([owner.email]);
	});

	test("told only about projects that they can see; admins are told what nobody else may see", async () => {
		const { id, project, owner, happen, mailed, set } = await home();
		const [one, two] = [await join(id, 1), await join(id, 1)];
		await set("plugin_job.failed", [one.uuid, two.uuid]);
		const [secret, gone] = await db
			.insert(projects)
			.values([
				{ organization_id: organizationId(id), name: "Secret", access_control: true },
				{ organization_id: organizationId(id), name: "Gone" },
			])
			.returning();
		if (!secret || !gone) throw new Error("No project was created.");
		await db.delete(projects).where(eq(projects.id, gone.id));
		await db.insert(projectMembers).values({
			project_id: secret.id,
			organization_id: organizationId(id),
			user_id: two.id,
			level: 1,
		});
		const fail = (n: number, project_id: number) =>
			happen({ project_id, trigger: { plugin_config_id: n, error: `error ${n}` } });
		await fail(1, project);
		await fail(2, secret.id);
		await fail(3, gone.id);
		const byPerson = (mails: { to: string; text: string }[]) =>
			new Map(mails.map(({ to, text }) => [to, text.match(/error \d/g)]));
		expect(byPerson(await mailed(0))).toEqual(
			new Map([
				[one.email, ["error 1"]],
				[two.email, ["error 1", "error 2"]],
				[owner.email, ["error 3"]],
			]),
		);
	});

	test("the owners of keys, each told of its own, where nothing else is set", async () => {
		const { id, owner, happen, mailed } = await home();
		const [one, two] = [await join(id, 1), await join(id, 1)];
		const stranger = await world();
		for (const [n, { uuid }] of [one, two, one, stranger.owner].entries())
			await happen({
				scope: "Key",
				activity: "expiring",
				item_id: `${n}`,
				project_id: null,
				trigger: { user_uuid: uuid, mask_value: `error ${n}` },
			});
		const mails = await mailed(0);
		expect(new Map(mails.map(({ to, text }) => [to, text.match(/error \d/g)]))).toEqual(
			new Map([
				[one.email, ["error 0", "error 2"]],
				[two.email, ["error 1"]],
				// Of somebody who isn't a member.
				[owner.email, ["error 3"]],
			]),
		);
	});

	test("nobody, where a type is turned off, also for what happened before", async () => {
		const { fail, mailed, set, waiting } = await home();
		await fail("orders");
		await set("batch_export_run.failed", []);
		expect(await waiting()).toEqual([]);
		await fail("orders");
		expect(await waiting()).toEqual([]);
		expect(await mailed(0)).toEqual([]);
		await set("batch_export_run.failed", "admins");
		expect(await mailed(60)).toEqual([]);
		await fail("orders", "error 3");
		expect(listed(await mailed(60))).toEqual([["error 3"]]);
	});
});

describe("no event is lost, and none is told twice, if", () => {
	test("ticks race: one sends the mail", async () => {
		const { fail, mails, mailed, start } = await home();
		await fail("orders");
		const both = { ...env, ...mails.env };
		await Promise.all([tick(both, start), tick(both, start), tick(both, start + 1)]);
		expect(mails.take()).toHaveLength(1);
		expect(await mailed(1)).toEqual([]);
	});

	test("a tick reads what is due before another one has sent it", async () => {
		const { fail, mails, mailed, start } = await home();
		await fail("orders");
		let met = false;
		const DB: D1Database = Object.assign(Object.create(env.DB), {
			prepare: (query: string) => env.DB.prepare(query),
			batch: async (statements: D1PreparedStatement[]) => {
				if (!met) {
					met = true;
					await tick({ ...env, ...mails.env }, start + 1000);
				}
				return env.DB.batch(statements);
			},
		});
		await tick({ ...env, ...mails.env, DB }, start);
		expect(met).toBe(true);
		expect(mails.take()).toHaveLength(1);
		expect(await mailed(30)).toEqual([]);
	});

	test("it happens while the mail is sent", async () => {
		const { happen, set, mailed, mails } = await home();
		await set("plugin_job.failed", "admins");
		const fail = (config: number, n: number) =>
			happen({ trigger: { plugin_config_id: config, error: `error ${n}` } });
		await fail(1, 1);
		const EMAIL = {
			...env.EMAIL,
			send: async (message: never) => {
				await fail(1, 2);
				await fail(2, 3);
				return mails.env.EMAIL?.send(message);
			},
		};
		const first = await mailed(0, { EMAIL } as Partial<Env>);
		expect(listed(first)).toEqual([["error 1"]]);
		expect(await mailed(59)).toEqual([]);
		expect(listed(await mailed(60))).toEqual([["error 2", "error 3"]]);
		expect(await mailed(120)).toEqual([]);
	});

	test("no mail can be sent: the next minute tries again", async () => {
		const { fail, mailed } = await home();
		await fail("orders", "error 1");
		const EMAIL = { ...env.EMAIL, send: () => Promise.reject(new Error("Not now.")) };
		expect(await mailed(0, { EMAIL } as Partial<Env>)).toEqual([]);
		await fail("visits", "error 2");
		expect(listed(await mailed(1))).toEqual([["error 1", "error 2"]]);
		expect(await mailed(2)).toEqual([]);
	});

	test("one recipient can't be reached: the others get it once", async () => {
		const { id, owner, fail, mailed, mails } = await home();
		const admin = await join(id, 8);
		await fail("orders", "error 1");
		const { EMAIL } = mails.env;
		const failing = {
			EMAIL: {
				...EMAIL,
				send: (message: { to: string }) =>
					message.to === admin.email
						? Promise.reject(new Error("Not now."))
						: EMAIL?.send(message as never),
			},
		} as Partial<Env>;
		const sent = await mailed(0, failing);
		expect(sent.map(({ to }) => to)).toEqual([owner.email]);
		expect(await mailed(1)).toEqual([]);
		expect(await mailed(61)).toEqual([]);
	});

	test("a tick is killed before it sends: the mail is sent an hour later", async () => {
		const { fail, mailed } = await home();
		await fail("orders", "error 1");
		const batch = vi.fn().mockRejectedValue(new Error("Killed."));
		const DB: D1Database = Object.assign(Object.create(env.DB), {
			prepare: (query: string) => env.DB.prepare(query),
			batch,
		});
		expect(await mailed(0, { DB })).toEqual([]);
		expect(batch).toHaveBeenCalled();
		await fail("orders", "error 2");
		expect(await mailed(59)).toEqual([]);
		expect(listed(await mailed(60))).toEqual([["error 1", "error 2"]]);
		expect(await mailed(25 * 60)).toEqual([]);
	});

	test("an organization has a type that can't be mailed", async () => {
		const { happen, mailed, waiting } = await home();
		await happen({ scope: "Comet", activity: "sighted" });
		expect(await waiting()).toEqual([]);
		expect(await mailed(0)).toEqual([]);
	});
});

test("the schedule writes the events of keys and domains, and sends the digests", async () => {
	const { id, owner, ask, start, fail, mails } = await home();
	const expires_at = new Date(start + 100 * HOUR).toISOString();
	await ask("POST", "/api/personal_api_keys", {
		body: { label: "CI", scopes: ["user:read"], expires_at },
	});
	await db.insert(domains).values({
		organization_id: organizationId(id),
		domain: `${v7()}.example.test`,
		verification_challenge: "x",
		verified_at: "2026-01-01T00:00:00.000Z",
		failed_rechecks: 2,
	});
	await fail("orders");
	const minute = async (n: number) => {
		const controller = createScheduledController({
			cron: "* * * * *",
			scheduledTime: new Date(start + n * MINUTE),
		});
		await worker.scheduled(controller, { ...env, ...mails.env });
	};
	await minute(0);
	await minute(1);
	const mine = mails.take().filter(({ text }) => text.includes(id));
	expect(mine.map(({ to, subject }) => `${to}: ${subject}`).sort()).toEqual(
		[
			"1 API key expires soon in Acme",
			"1 domain has lost the DNS record that verifies it in Acme",
			"1 run of batch exports failed in Acme",
		].map((subject) => `${owner.email}: ${subject}`),
	);
});

test("where mail isn't configured, events wait for a week and are then forgotten", async () => {
	const { fail, mailed, waiting } = await home();
	const off = { MAIL_FROM: "" };
	const DAY = 24 * 60;
	await fail("orders", "error 1");
	expect(await mailed(0, off)).toEqual([]);
	await mailed(7 * DAY - 1, off);
	expect(await waiting()).toHaveLength(1);
	await mailed(7 * DAY, off);
	expect(await waiting()).toEqual([]);
	expect(await mailed(8 * DAY)).toEqual([]);
	await fail("orders", "error 2");
	expect(listed(await mailed(8 * DAY))).toEqual([["error 2"]]);
});

test("an event of an organization that was deleted alerts nobody", async () => {
	const { fail, id, waiting } = await home();
	await fail("orders");
	await db.delete(organizations).where(eq(organizations.uuid, id));
	expect(await waiting()).toEqual([]);
	await fail("orders");
	expect(await waiting()).toEqual([]);
});

test("an event that nobody wants to be mailed about writes no alert", async () => {
	const { happen, waiting, id } = await home();
	await happen({ scope: "BatchExportRun", activity: "completed" });
	await happen({});
	expect(await waiting()).toEqual([]);
	const rows = await db
		.select()
		.from(notifications)
		.where(eq(notifications.organization_id, organizationId(id)));
	expect(rows).toEqual([]);
});

test("a tick reads only what is due, however many events and waiting alerts there are", async () => {
	const { organization_id, start, mails, fail, mailed } = await home();
	await fail("orders");
	await mailed(0);
	await db.run(`insert into activity_log (organization_id, is_system, activity, scope, item_id, created_at)
		with recursive n (i) as (select 0 union all select i + 1 from n where i < 4999)
		select ${organization_id}, 1, 'failed', 'BatchExportRun', 'export ' || i, ${Date.UTC(2026, 0, 1)} from n`);
	const later = and(eq(alerts.organization_id, organization_id));
	await db
		.update(alerts)
		.set({ due_at: new Date(start + HOUR).toISOString() })
		.where(later);
	const { spent, db: DB } = metered();
	await tick({ ...env, ...mails.env, DB }, start + MINUTE);
	expect(spent.read).toBeLessThan(50);
});
