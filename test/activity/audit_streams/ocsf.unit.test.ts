import { expect, test } from "vitest";
import { toOcsf } from "../../../src/activity/audit_streams/ocsf.ts";
import type { EventRow } from "../../../src/activity/events/event.ts";
import { toEvent } from "../../../src/activity/events/event.ts";
import { ACTIVITIES } from "../../../src/db/event_types.ts";
import type { Origin } from "../../../src/db/schema/origin.ts";
import { problemsOf } from "./ocsf.ts";

const USER = {
	uuid: "019aa8d4-6c1e-7b3a-9a52-0c6f6f1f2d10",
	first_name: "Özil",
	email: "ozil@example.com",
	is_service_account: false,
};

const KEY = { id: "019aa8d4-6c1e-7b3a-9a52-0c6f6f1f2d14", label: "Terraform" };

const REQUEST = {
	address: "192.0.2.7",
	country: "FR",
	user_agent: "Firefox 140, Linux",
	request_id: "019aa8d4-6c1e-7b3a-9a52-0c6f6f1f2d15",
};

const origin = (
	kind: NonNullable<Origin["key"]>["kind"],
	request: Partial<typeof REQUEST> = {},
) => ({
	key: { ...KEY, kind },
	request: { ...REQUEST, ...request },
});

/** Whoever can act. */
const ACTORS = {
	person: { user: USER, is_system: false, origin: origin("session") },
	"person before origins were noted": { user: USER, is_system: false, origin: null },
	"person whose address isn't stored": {
		user: USER,
		is_system: false,
		origin: {
			key: null,
			request: { address: null, country: null, user_agent: null, request_id: null },
		},
	},
	"person with an address that OCSF doesn't allow": {
		user: { ...USER, email: "özil@localhost" },
		is_system: false,
		origin: origin("api_key", { address: "2001:db8::ffff:192.0.2.7", country: "T1" }),
	},
	app: { user: USER, is_system: false, origin: origin("app", { address: "::1" }) },
	provider: {
		user: null,
		is_system: false,
		origin: origin("scim_token"),
		trigger: { job_type: "scim" },
	},
	"service account": {
		user: { ...USER, is_service_account: true },
		is_system: false,
		origin: origin("api_key"),
	},
	system: { user: null, is_system: true, origin: null },
	operator: { user: null, is_system: false, origin: null },
};

const CHANGE = { field: "level", action: "changed" as const, before: 1, after: 8 };

const rowOf = (kind: { scope: string; activity: string }, more: Partial<EventRow> = {}) => ({
	position: 1,
	id: "019aa8d4-6c1e-7b3a-9a52-0c6f6f1f2d11",
	...ACTORS.person,
	...kind,
	item_id: "019aa8d4-6c1e-7b3a-9a52-0c6f6f1f2d12",
	organization_id: "019aa8d4-6c1e-7b3a-9a52-0c6f6f1f2d13",
	project_id: null,
	name: "ada@example.com",
	changes: [],
	trigger: null,
	created_at: "2026-11-21T12:00:00.123Z",
	...more,
});

const ocsf = (...of: Parameters<typeof rowOf>) => toOcsf(toEvent(rowOf(...of)), 7);

const KINDS = Object.entries(ACTIVITIES).flatMap(([scope, activities]) =>
	activities.map((activity) => ({ scope, activity })),
);

test.each(Object.entries(ACTORS))(
	"every type of event is valid OCSF 1.5 when caused by a %s, with and without values",
	(_, actor) => {
		for (const kind of [...KINDS, { scope: "Later", activity: "invented" }])
			for (const more of [
				{},
				{ name: "", item_id: "", project_id: 3 },
				{ changes: [CHANGE], trigger: { level: 2 ** 53 } },
				{ changes: [{ ...CHANGE, before: null, after: null }], name: "\u2028ü" },
			]) {
				const event = ocsf(kind, { ...actor, ...more });
				expect({ ...kind, problems: problemsOf(event) }).toEqual({ ...kind, problems: [] });
			}
	},
);

test("the published schema rejects what isn't in it", () => {
	const event = ocsf({ scope: "Member", activity: "updated" });
	for (const wrong of [
		{ ...event, type_uid: 300502 },
		{ ...event, category_uid: 6 },
		{ ...event, invented: true },
		{ ...event, severity_id: 7 },
		{ ...event, time: "2026-11-21T12:00:00.123Z" },
		{ ...event, privileges: undefined },
		{ ...event, actor: {} },
		{ ...event, metadata: { ...event.metadata, product: {} } },
		{ ...event, user: { name: "Ada", email_addr: "özil@localhost" } },
	])
		expect(problemsOf(wrong)).not.toEqual([]);
});

test.each([
	["Session", "created", 3002, 1],
	["Session", "deleted", 3002, 2],
	["SignIn", "failed", 3002, 1],
	["User", "deactivated", 3001, 5],
	["TwoFactor", "enabled", 3001, 10],
	["Passkey", "deleted", 3001, 11],
	["Member", "created", 3005, 1],
	["ProjectMember", "deleted", 3005, 2],
	["PersonalApiKey", "created", 6003, 1],
	["BatchExport", "updated", 6003, 3],
	["Webhook", "deleted", 6003, 4],
	["BatchExportRun", "failed", 6003, 99],
])("%s %s is class %i, activity %i", (scope, activity, class_uid, activity_id) => {
	expect(ocsf({ scope, activity })).toMatchObject({ class_uid, activity_id });
});

test("an event says who did what when, what failed, and keeps what OCSF has no attribute for", () => {
	const changes = [CHANGE];
	expect(ocsf({ scope: "Member", activity: "updated" }, { changes })).toMatchObject({
		time: 1795262400123,
		status_id: 1,
		message: "member.updated: ada@example.com",
		metadata: {
			version: "1.5.0",
			sequence: 7,
			event_code: "member.updated",
			correlation_uid: REQUEST.request_id,
		},
		actor: {
			user: {
				uid: USER.uuid,
				name: USER.email,
				email_addr: USER.email,
				credential_uid: KEY.id,
			},
			session: { uid: KEY.id },
		},
		src_endpoint: { ip: "192.0.2.7", location: { country: "FR" } },
		http_request: { uid: REQUEST.request_id, user_agent: "Firefox 140, Linux" },
		user: { name: "ada@example.com" },
		privileges: ["level: 8"],
		unmapped: { scope: "Member", changes, trigger: null },
	});
	expect(ocsf({ scope: "SignIn", activity: "failed" }, ACTORS.operator)).toMatchObject({
		status_id: 2,
		severity_id: 2,
		actor: { app_name: "system" },
		user: { name: "ada@example.com" },
	});
	expect(ocsf({ scope: "Webhook", activity: "rolled" })).toMatchObject({
		activity_id: 99,
		activity_name: "rolled",
	});
});
