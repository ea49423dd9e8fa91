import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { activityLog } from "../../../src/db/schema/activity_log.ts";
import { auditStreams } from "../../../src/db/schema/audit_streams.ts";
import { KEYS } from "../../support/bucket.ts";
import { forbidden } from "../../support/errors.ts";
import { listR2, listS3 } from "../../support/exporting.ts";
import { call, db, join, keyFor, racing, world } from "../../support/world.ts";
import { s3 } from "./support.ts";

const R2 = { type: "R2", config: { prefix: "audit" } };

const S3 = s3();

type World = Awaited<ReturnType<typeof world>>;

const create = ({ here }: World, body: object = {}) =>
	here("POST", "/audit_streams", { body: { name: "Archive", destination: R2, ...body } });

const entriesOf = (id: string) =>
	db.select().from(activityLog).where(eq(activityLog.item_id, id)).orderBy(activityLog.position);

test("a stream is created, listed, changed and deleted, and each change is in the activity log", async () => {
	const home = await world();
	const created = await create(home);
	const stream = {
		id: expect.any(String),
		name: "Archive",
		destination: R2,
		enabled: true,
		sequence: 0,
		digest: expect.stringMatching(/^[0-9a-f]{64}$/),
		last_file: null,
		last_delivered_at: null,
		delivered_until: null,
		delivered_events: 0,
		missing_events: 0,
		latest_error: null,
		next_attempt_at: expect.any(String),
		created_at: expect.any(String),
	};
	expect(created).toMatchObject({ status: 201, body: stream });
	const { id } = created.body;
	const path = `/audit_streams/${id}`;
	expect((await home.here("GET", "/audit_streams")).body).toMatchObject({
		count: 1,
		results: [stream],
	});
	expect((await home.here("GET", path)).body).toEqual(created.body);
	const renamed = await home.here("PATCH", path, { body: { name: "Other" } });
	expect(renamed).toMatchObject({ status: 200, body: { ...stream, name: "Other" } });
	const paused = await home.here("PATCH", path, { body: { enabled: false } });
	expect(paused.body).toMatchObject({ enabled: false, next_attempt_at: null });
	const resumed = await home.here("PATCH", path, { body: { enabled: "yes" } });
	expect(resumed.body).toMatchObject({ enabled: true, next_attempt_at: expect.any(String) });
	expect((await home.here("DELETE", path)).status).toBe(204);
	expect((await home.here("GET", path)).status).toBe(404);
	const entries = await entriesOf(id);
	expect(entries.map(({ scope, activity }) => `${scope} ${activity}`)).toEqual([
		"AuditStream created",
		"AuditStream updated",
		"AuditStream updated",
		"AuditStream updated",
		"AuditStream deleted",
	]);
});

test("secrets are encrypted, and no answer or entry shows them", async () => {
	const home = await world();
	const { body } = await create(home, { destination: S3 });
	const { aws_access_key_id: _, aws_secret_access_key: __, ...shown } = S3.config;
	expect(body.destination).toEqual({ type: "S3", config: shown });
	const path = `/audit_streams/${body.id}`;
	const patched = await home.here("PATCH", path, {
		body: { destination: { config: { aws_secret_access_key: "another-secret" } } },
	});
	expect(patched.body.destination.config).toEqual(shown);
	const [row] = await db.select().from(auditStreams).where(eq(auditStreams.id, body.id));
	const stored = JSON.stringify([row, await entriesOf(body.id)]);
	for (const secret of [...Object.values(KEYS), "another-secret"])
		expect(stored).not.toContain(secret);
	expect(stored).toContain("********");
});

test("stored secrets don't follow a destination that is led to another server", async () => {
	const home = await world();
	const { id } = (await create(home, { destination: S3 })).body;
	const body = { destination: { config: { endpoint_url: "http://127.0.0.1:9" } } };
	for (const [method, path] of [
		["PATCH", `/audit_streams/${id}`],
		["POST", `/audit_streams/${id}/test`],
	] as const)
		expect(await home.here(method, path, { body })).toMatchObject({
			status: 400,
			body: {
				attr: "destination",
				detail: "Give the secret fields again: the destination leads elsewhere.",
			},
		});
});

test.each([
	[{ name: "" }, "name", "This field may not be blank."],
	[{ destination: undefined }, "destination", "This field is required."],
	[
		{ destination: { type: "Postgres", config: { host: "a.example" } } },
		"destination__type",
		'"Postgres" is not a valid choice.',
	],
	[
		{ destination: { type: "S3", config: { prefix: "" } } },
		"destination",
		"Configuration missing required field: 'bucket_name'",
	],
	[
		{ destination: { type: "R2", config: { prefix: "", exclude_events: [], compression: null } } },
		"destination",
		"Configuration has unknown field/s: 'compression', 'exclude_events'",
	],
	[
		{ destination: { type: "R2", config: { prefix: "{year}" } } },
		"destination__config__prefix",
		"The prefix of an audit stream can't contain variables.",
	],
	[{ from: "then" }, "from", '"then" is not a valid choice.'],
])("%j is rejected", async (body, attr, detail) => {
	expect(await create(await world(), body)).toMatchObject({ status: 400, body: { attr, detail } });
});

test("the rules of a config also hold for a change", async () => {
	const home = await world();
	const { id } = (await create(home)).body;
	for (const [destination, attr] of [
		[{ type: "S3" }, "destination__type"],
		[{ config: { file_format: "CSV" } }, "destination"],
		[{ config: { prefix: "{day}" } }, "destination__config__prefix"],
		[{ config: { prefix: null } }, "destination"],
	] as const)
		expect(
			await home.here("PATCH", `/audit_streams/${id}`, { body: { destination } }),
		).toMatchObject({ status: 400, body: { attr } });
});

/** The routes below a stream's path. */
const ROUTES = [
	["GET", ""],
	["PATCH", ""],
	["DELETE", ""],
	["POST", "/test"],
] as const;

test("a stream of another organization is not found", async () => {
	const [home, stranger] = [await world(), await world()];
	const { body: stream } = await create(home);
	const at = `/audit_streams/${stream.id}`;
	for (const [method, below] of ROUTES)
		expect([method, below, await stranger.here(method, at + below)]).toMatchObject([
			method,
			below,
			{ status: 404 },
		]);
	expect((await stranger.here("GET", "/audit_streams")).body.count).toBe(0);
	expect((await home.here("GET", at)).body).toEqual(stream);
});

test("a member who isn't an admin reaches no route of streams, and an admin does", async () => {
	const home = await world();
	const { id } = (await create(home)).body;
	const [member, admin] = [await join(home.id, 1), await join(home.id, 8)];
	const path = `/api/organizations/${home.id}/audit_streams`;
	const below = ROUTES.map(([method, rest]) => [method, `/${id}${rest}`] as const);
	for (const [method, at] of [["GET", ""], ["POST", ""], ...below] as const)
		expect([method, at, await call(method, path + at, { key: member.key })]).toMatchObject([
			method,
			at,
			forbidden("Your organization access level is insufficient."),
		]);
	expect((await call("GET", path, { key: admin.key })).body.count).toBe(1);
});

test("a change of the bucket that races with another is not lost, and doesn't undo the other", async () => {
	const home = await world();
	const { id } = (await create(home)).body;
	const path = `/api/organizations/${home.id}/audit_streams/${id}`;
	const key = await keyFor(home.owner.id);
	const response = await home.ask("PATCH", path, {
		body: { destination: { config: { encryption: "AES256" } } },
		env: racing(() =>
			call("PATCH", path, { key, body: { destination: { config: { prefix: "other" } } } }),
		),
	});
	expect(response.body.destination.config).toEqual({ prefix: "other", encryption: "AES256" });
});

describe("a test of a destination", () => {
	const tried = async (destination: object, body: object = {}) => {
		const home = await world();
		const { id } = (await create(home, { destination })).body;
		return { home, id, ...(await home.here("POST", `/audit_streams/${id}/test`, { body })) };
	};

	test.each([
		["S3", S3, ["reach", "sign in", "write"], (_: string, id: string) => listS3(`audit/${id}`)],
		["R2", R2, ["write"], (home: string, id: string) => listR2(`audit/${home}/audit/${id}`)],
	])(
		"of %s says how each step went, and leaves nothing behind",
		async (_, destination, names, list) => {
			const { status, body, id, home } = await tried(destination);
			const steps = names.map((name) => ({ name, error: null, warning: null }));
			expect({ status, body }).toEqual({ status: 200, body: { success: true, steps } });
			expect(await list(home.id, id)).toEqual([]);
			expect((await entriesOf(id)).at(-1)).toMatchObject({
				activity: "tested",
				trigger: { destination: destination.type },
			});
		},
	);

	test("says what is wrong, in words, and takes changes that are not saved", async () => {
		const { body } = await tried(S3, {
			destination: { config: { aws_secret_access_key: "wrong" } },
		});
		expect(body).toMatchObject({
			success: false,
			steps: [
				{ name: "reach", error: null },
				{
					name: "sign in",
					error: expect.stringContaining("The secret of the access key is wrong."),
				},
			],
		});
		const missing = await tried(S3, { destination: { config: { bucket_name: "nowhere" } } });
		expect(missing.body.steps.at(-1)).toEqual({
			name: "write",
			error: expect.stringContaining("There is no such bucket."),
			warning: null,
		});
	});

	test("passes where the bucket forbids that objects are removed", async () => {
		const kept = { ...S3.config, endpoint_url: `${env.RECEIVER_URL}/undeletable` };
		const { body, id } = await tried({ type: "S3", config: kept });
		expect(body.success).toBe(true);
		expect(body.steps.at(-1)).toEqual({
			name: "write",
			error: null,
			warning: expect.stringMatching(
				new RegExp(`The object is still there, remove it: audit/${id}/\\.tenantry-test-`),
			),
		});
	});

	test("reaches no private address", async () => {
		const home = await world();
		const { id } = (await create(home, { destination: S3 })).body;
		const response = await home.here("POST", `/audit_streams/${id}/test`, {
			env: { ALLOW_PRIVATE_DESTINATIONS: "false" },
		});
		expect(response.body).toMatchObject({ success: false });
		expect(response.body.steps[0].error).toContain("is a private address");
	});
});
