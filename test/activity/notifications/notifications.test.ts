import { eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { organizationId } from "../../../src/db/schema/organizations.ts";
import { members, users } from "../../../src/db/schema/people.ts";
import { forbidden, wrong } from "../../support/errors.ts";
import { call, db, join, person, racing, world } from "../../support/world.ts";

const DEFAULTS = [
	{ type: "batch_export.paused", recipients: "admins" },
	{ type: "batch_export_run.failed", recipients: "admins" },
	{ type: "batch_export_run.skipped", recipients: "admins" },
	{ type: "batch_export_run.completed", recipients: [] },
	{ type: "plugin_job.failed", recipients: [] },
	{ type: "key.expiring", recipients: "owner" },
	{ type: "domain.unverified", recipients: "admins" },
	{ type: "webhook.disabled", recipients: "admins" },
	{ type: "audit_stream.failed", recipients: "admins" },
	{ type: "audit_stream.delivered", recipients: [] },
	{ type: "member.created", recipients: "admins" },
];

/** The defaults, but for one type. */
const except = (type: string, recipients: unknown) =>
	DEFAULTS.map((one) => (one.type === type ? { type, recipients } : one));

const body = (type: string, recipients: unknown) => ({
	body: { subscriptions: [{ type, recipients }] },
});

test("any member can read the notifications, and has the defaults at first", async () => {
	const { id } = await world();
	const { key } = await join(id, 1);
	const path = `/api/organizations/${id}/notifications`;
	expect((await call("GET", path, { key })).body).toEqual({ subscriptions: DEFAULTS });
	expect((await call("GET", `${path}/`, { key })).status).toBe(200);
});

test("an admin changes some types, and the others stay as they are", async () => {
	const { here, id, owner } = await world();
	const admin = await join(id, 8);
	const first = await call("PATCH", `/api/organizations/${id}/notifications`, {
		key: admin.key,
		...body("plugin_job.failed", [owner.uuid.toUpperCase(), owner.uuid]),
	});
	expect(first.body.subscriptions).toEqual(except("plugin_job.failed", [owner.uuid]));
	await here("PATCH", "/notifications", body("key.expiring", "admins"));
	const response = await here("PATCH", "/notifications", body("plugin_job.failed", []));
	expect(response.body.subscriptions).toEqual(except("key.expiring", "admins"));
	expect((await here("GET", "/notifications")).body).toEqual(response.body);
	expect((await here("GET", "/activity_log")).body.results).toMatchObject([
		{
			activity: "updated",
			scope: "Organization",
			item_id: id,
			user: { uuid: owner.uuid },
			detail: {
				name: "Acme",
				changes: [
					{
						field: "notifications",
						action: "changed",
						before: [{ type: "plugin_job.failed", recipients: [owner.uuid] }],
						after: [{ type: "plugin_job.failed", recipients: [] }],
					},
				],
			},
		},
		{},
		{},
	]);
});

test("a PATCH that changes nothing writes no entry", async () => {
	const { here } = await world();
	for (const options of [{ body: {} }, { body: { subscriptions: DEFAULTS } }])
		expect((await here("PATCH", "/notifications", options)).body).toEqual({
			subscriptions: DEFAULTS,
		});
	expect((await here("GET", "/activity_log")).body.count).toBe(0);
});

test("a member who isn't an admin can't change them", async () => {
	const { id } = await world();
	const { key } = await join(id, 1);
	const path = `/api/organizations/${id}/notifications`;
	expect(await call("PATCH", path, { key, body: 7 })).toMatchObject(
		forbidden("Your organization access level is insufficient."),
	);
});

describe("a change is rejected if", () => {
	const CHOICE = "is not a valid choice.";
	const many = Array.from({ length: 101 }, () => crypto.randomUUID());

	test.each<[subscription: object, attr: string, detail: string]>([
		[{ type: "member.deleted", recipients: "admins" }, "type", `"member.deleted" ${CHOICE}`],
		[{ recipients: "all" }, "recipients", `"all" ${CHOICE}`],
		[{ recipients: 7 }, "recipients", `"7" ${CHOICE}`],
		[{ recipients: null }, "recipients", "This field may not be null."],
		[{}, "recipients", "This field is required."],
		[{ recipients: ["x"] }, "recipients__0", "Must be a valid UUID."],
		[{ type: "plugin_job.failed", recipients: "owner" }, "recipients", `"owner" ${CHOICE}`],
		[{ recipients: many }, "recipients", "Ensure this field has no more than 100 elements."],
	])("a subscription is invalid (%#)", async (given, attr, detail) => {
		const { here } = await world();
		const subscriptions = [{ type: "key.expiring", ...given }];
		expect(await here("PATCH", "/notifications", { body: { subscriptions } })).toMatchObject(
			wrong(expect.any(String), detail, `subscriptions__0__${attr}`),
		);
	});

	test("a type is listed twice", async () => {
		const { here } = await world();
		const one = { type: "key.expiring", recipients: [] };
		expect(
			await here("PATCH", "/notifications", { body: { subscriptions: [one, one] } }),
		).toMatchObject(
			wrong("invalid_input", "Each type may be listed once.", "subscriptions__1__type"),
		);
	});

	test("a recipient is a stranger, doesn't exist, or isn't active", async () => {
		const { here, id, owner } = await world();
		const stranger = await person();
		const away = await join(id, 8);
		await db.update(users).set({ is_active: false }).where(eq(users.id, away.id));
		for (const uuid of [stranger.uuid, crypto.randomUUID(), away.uuid])
			expect(
				await here("PATCH", "/notifications", body("key.expiring", [owner.uuid, uuid])),
			).toMatchObject(
				wrong(
					"does_not_exist",
					`Invalid pk "${uuid}" - object does not exist.`,
					"subscriptions__0__recipients__1",
				),
			);
	});

	test("the caller is no admin any more when it is written", async () => {
		const { here, id, owner } = await world();
		await join(id, 15);
		const demote = async () =>
			db.update(members).set({ level: 1 }).where(eq(members.user_id, owner.id));
		const { status } = await here("PATCH", "/notifications", {
			...body("key.expiring", []),
			env: racing(demote),
		});
		expect(status).toBe(403);
		expect((await here("GET", "/notifications")).body.subscriptions).toEqual(DEFAULTS);
	});
});

test("people who leave are left out; when the last one leaves, admins get the mails", async () => {
	const { here, id } = await world();
	const other = await world();
	const [one, two] = [await join(id, 1), await join(id, 1)];
	await db
		.insert(members)
		.values({ organization_id: organizationId(other.id), user_id: one.id, level: 1 });
	await here("PATCH", "/notifications", body("plugin_job.failed", [one.uuid, two.uuid]));
	const now = async () => (await here("GET", "/notifications")).body.subscriptions;
	await here("DELETE", `/members/${one.uuid}`);
	expect(await now()).toEqual(except("plugin_job.failed", [two.uuid]));
	await here("DELETE", `/members/${two.uuid}`);
	expect(await now()).toEqual(except("plugin_job.failed", "admins"));
});

test("two changes of different types that race both hold", async () => {
	const { here } = await world();
	const other = () => here("PATCH", "/notifications", body("domain.unverified", []));
	await here("PATCH", "/notifications", { ...body("key.expiring", "admins"), env: racing(other) });
	expect((await here("GET", "/notifications")).body.subscriptions).toEqual(
		except("key.expiring", "admins").map((one) =>
			one.type === "domain.unverified" ? { ...one, recipients: [] } : one,
		),
	);
});

test("If-Match rejects a change of notifications that somebody else has changed", async () => {
	const { here } = await world();
	const tag = async () => (await here("GET", "/notifications")).headers.get("etag") ?? "";
	const change = (tag: string, more: object = {}) =>
		here("PATCH", "/notifications", {
			...body("key.expiring", []),
			headers: { "if-match": tag },
			...more,
		});
	const other = () => here("PATCH", "/notifications", body("domain.unverified", []));
	const old = await tag();
	expect((await change(old, { env: racing(other) })).status).toBe(412);
	expect((await change(old)).status).toBe(412);
	expect((await change(await tag())).status).toBe(200);
});

test("the notification about joins and is_member_join_email_enabled are one switch", async () => {
	const { here, owner } = await world();
	const recipients = async () =>
		(await here("GET", "/notifications")).body.subscriptions.at(-1).recipients;
	const isOn = async () => (await here("GET", "")).body.is_member_join_email_enabled;
	await here("PATCH", "/notifications", body("member.created", []));
	expect([await recipients(), await isOn()]).toEqual([[], false]);
	await here("PATCH", "/notifications", body("member.created", [owner.uuid]));
	expect([await recipients(), await isOn()]).toEqual([[owner.uuid], true]);
	await here("PATCH", "", { body: { is_member_join_email_enabled: false } });
	expect(await recipients()).toEqual([]);
	await here("PATCH", "", { body: { is_member_join_email_enabled: true } });
	expect(await recipients()).toEqual([owner.uuid]);
});
