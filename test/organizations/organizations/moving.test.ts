import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { v7 } from "uuid";
import { expect, test } from "vitest";
import { deliver } from "../../../src/activity/webhooks/deliver.ts";
import { batchExportRuns, batchExports } from "../../../src/db/schema/batch_exports.ts";
import { organizations } from "../../../src/db/schema/organizations.ts";
import { users } from "../../../src/db/schema/people.ts";
import { webhooks } from "../../../src/db/schema/webhooks.ts";
import { runDueExports } from "../../../src/exports/engine/schedule.ts";
import { HOUR_MS, iso, MINUTE_MS } from "../../../src/lib/time.ts";
import { accept, createInvite, stateOf } from "../../people/invites/support.ts";
import { provisioned, USER } from "../../support/scim.ts";
import { eventually } from "../../support/time.ts";
import { db, racing, rowOf, world } from "../../support/world.ts";

const setMoving = (id: string, moving: { since: string } | null) =>
	db.update(organizations).set({ moving }).where(eq(organizations.uuid, id));

const MOVING = {
	status: 409,
	body: {
		code: "moving",
		detail:
			"The organization is being moved, so it can't be changed for now. Reads still work. Try again later.",
	},
};

test("an organization that is moving can be read, but not changed", async () => {
	const home = await world();
	await setMoving(home.id, { since: "2026-01-01" });
	const name = { body: { name: "Other" } };
	expect(await home.here("GET", "/projects")).toMatchObject({ status: 200 });
	for (const [method, path] of [
		["POST", "/projects"],
		["PATCH", ""],
		["DELETE", ""],
	] as const) {
		const response = await home.here(method, path, method === "DELETE" ? {} : name);
		expect(response).toMatchObject(MOVING);
		expect(response.headers.get("retry-after")).toBe("60");
	}
	expect(await home.ask("PATCH", `/api/projects/${home.project}`, name)).toMatchObject(MOVING);
	expect(await home.ask("PATCH", "/api/users/@me", { body: { first_name: "A" } })).toMatchObject({
		status: 200,
	});
	await setMoving(home.id, null);
	expect(await home.here("PATCH", "", name)).toMatchObject({ status: 200 });
});

test("a change that has begun when the organization starts to move is rejected", async () => {
	const home = await world();
	const response = await home.here("PATCH", "", {
		body: { name: "Other" },
		env: racing(() => setMoving(home.id, { since: "2026-01-01" })),
	});
	expect(response).toMatchObject({ status: 403 });
	expect((await home.here("GET", "")).body.name).toBe("Acme");
});

test("nobody joins an organization that is moving with an invite, also if it starts to move meanwhile", async () => {
	const home = await world();
	const { token } = await createInvite(home);
	const env = racing(() => setMoving(home.id, { since: "2026-01-01" }));
	expect(await accept(token, { env })).toMatchObject(MOVING);
	expect(await accept(token)).toMatchObject(MOVING);
	expect(await stateOf(home)).toEqual({ members: 1, invites: 1, accepted: 0 });
	await setMoving(home.id, null);
	expect(await accept(token)).toMatchObject({ status: 200 });
});

test("an identity provider is told to repeat its changes of an organization that is moving", async () => {
	const home = await provisioned();
	const { id } = await home.add();
	await setMoving(home.id, { since: "2026-01-01" });
	expect(await home.scim("GET", `/Users/${id}`)).toMatchObject({ status: 200 });
	for (const [method, path, options] of [
		["POST", "/Users", { body: { schemas: [USER], userName: home.address() } }],
		["DELETE", `/Users/${id}`, {}],
	] as const) {
		const response = await home.scim(method, path, options);
		expect(response).toMatchObject({ status: 503, body: { status: "503" } });
		expect(response.headers.get("retry-after")).toBe("60");
	}
	await setMoving(home.id, null);
	expect(await home.scim("DELETE", `/Users/${id}`)).toMatchObject({ status: 204 });
});

test("nothing is run for an organization that is moving, and everything afterwards", async () => {
	const home = await world();
	const [uuid, webhook] = [v7(), v7()];
	// The latest hour whose run is due.
	const end = Math.floor((Date.now() - 6 * MINUTE_MS) / HOUR_MS) * HOUR_MS;
	const at = iso(end - HOUR_MS);
	await db.insert(batchExports).values({
		uuid,
		organization_id: home.organization_id,
		project_id: home.project,
		name: "Export",
		destination: { type: "NoOp", config: {} },
		interval: "hour",
		next_start_at: at,
		next_end_at: iso(end),
		due_at: iso(end),
	});
	await db.insert(webhooks).values({
		id: webhook,
		organization_id: home.organization_id,
		url: "https://example.com",
		secret: "",
		position: 0,
		next_attempt_at: at,
	});
	const runs = () =>
		db
			.select()
			.from(batchExportRuns)
			.where(eq(batchExportRuns.batch_export_id, rowOf(uuid)));
	const leases = async () =>
		(await db.select().from(webhooks).where(eq(webhooks.id, webhook)))[0]?.lease;
	const work = () =>
		Promise.all([runDueExports(env, end + 6 * MINUTE_MS), deliver(env, { webhook })]);
	await setMoving(home.id, { since: at });
	await work();
	expect([await runs(), await leases()]).toEqual([[], 0]);
	await setMoving(home.id, null);
	await work();
	await eventually(async () => expect(await runs()).toMatchObject([{ status: "Completed" }]));
	expect(await leases()).toBeGreaterThan(0);
});

test("signing in with an address that nobody waits for changes no memberships", async () => {
	const home = await world();
	await db.update(users).set({ last_sign_in_at: "2026" }).where(eq(users.id, home.owner.id));
	expect((await home.here("GET", "/members")).body.count).toBe(1);
});
