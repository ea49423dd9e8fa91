/** What every server of audit streams promises. */
import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { activityLog } from "../../../src/db/schema/activity_log.ts";
import { organizationId } from "../../../src/db/schema/organizations.ts";
import { entries as logOf } from "../../support/activity.ts";
import { SECRET } from "../../support/siems.ts";
import { world } from "../../support/world.ts";
import { problemsOf } from "./ocsf.ts";
import { rangesOf, SERVERS, type Server, serverOf } from "./sinks.ts";
import { deliver, fill, HOUR, iso, LATE, streaming } from "./support.ts";

/** Returns the entries of an organization, without the event of its first file. */
const deliveredOf = async (id: string) => {
	const log = await logOf(eq(activityLog.organization_id, organizationId(id)));
	return log.filter(({ activity }) => activity !== "delivered");
};

export const describeServers = (types: Server[]) =>
	describe.each(types)("%s", (type) => {
		const sink = SERVERS[type];

		test("gets every entry once, in order, with its position", async () => {
			const { destination, accepted, events } = serverOf(type, sink);
			const { id, stream, show } = await streaming(destination, 30);
			await deliver(env, LATE);
			const log = await deliveredOf(id);
			expect((await events()).map((event) => [event.number, event.id, event.created_at])).toEqual(
				log.map((row, i) => [i + 1, row.id, row.created_at]),
			);
			const [request] = await accepted();
			expect(request?.headers).toMatchObject({
				"tenantry-stream": stream,
				"tenantry-positions": `1-${log.length}`,
				"idempotency-key": `${stream}:1-${log.length}`,
				"user-agent": expect.stringContaining("Tenantry/"),
			});
			expect(await show()).toMatchObject({
				sequence: 1,
				delivered_events: log.length,
				last_file: null,
				latest_error: null,
			});
			// The next file begins where this one ended.
			await fill(id, 2, iso(LATE));
			await deliver(env, LATE + 2 * HOUR);
			expect(rangesOf(await accepted())).toEqual([
				`1-${log.length}`,
				// With the event of the first file.
				`${log.length + 1}-${log.length + 3}`,
			]);
		});

		test("gets valid OCSF, without other attributes", async () => {
			const { destination, events } = serverOf(type, sink, { format: "OCSF" });
			const { here } = await streaming(destination, 2);
			await here("POST", "/invites", { body: { target_email: "grace@example.com" } });
			await deliver(env, LATE);
			const all = await events();
			expect(all.length).toBeGreaterThan(3);
			expect(all.map(problemsOf)).toEqual(all.map(() => []));
			expect(all.map(({ metadata }) => metadata.sequence)).toEqual(all.map((_, i) => i + 1));
		});

		test("gets the same positions again when the response was lost", async () => {
			const { destination, accepted, plan, events } = serverOf(type, sink);
			const { show } = await streaming(destination, 3);
			await plan("lost");
			await deliver(env, LATE);
			expect((await show()).sequence).toBe(0);
			await deliver(env, LATE + HOUR);
			const [first, second, ...others] = await accepted();
			expect(others).toEqual([]);
			expect(second?.items).toEqual(first?.items);
			expect(second?.headers["idempotency-key"]).toBe(first?.headers["idempotency-key"]);
			const ids = new Set((await events()).map(({ id }) => id));
			expect((await show()).delivered_events).toBe(ids.size);
		});

		test("is tried again after a 503, and when it asks for it after a 429", async () => {
			const { destination, plan, events } = serverOf(type, sink);
			const { show } = await streaming(destination);
			await plan("503", "429-1200");
			await deliver(env, LATE);
			expect(await show()).toMatchObject({
				latest_error: expect.stringContaining(" answered 503"),
				next_attempt_at: iso(LATE + 60_000),
			});
			await deliver(env, LATE + 60_000);
			expect((await show()).next_attempt_at).toBe(iso(LATE + 60_000 + 1_200_000));
			await deliver(env, LATE + HOUR);
			expect((await show()).latest_error).toBeNull();
			expect((await events()).length).toBe((await show()).delivered_events);
		});

		test("that rejects the secret is tried again every hour, and no error shows the secret", async () => {
			const { destination } = serverOf(type, sink, { [sink.secret]: `wrong-${SECRET}` });
			const { show, here, stream } = await streaming(destination);
			await deliver(env, LATE);
			const shown = await show();
			expect(shown).toMatchObject({
				latest_error: expect.stringContaining(sink.rejection),
				next_attempt_at: iso(LATE + HOUR),
			});
			const { body } = await here("POST", `/audit_streams/${stream}/test`, { body: {} });
			expect(body).toMatchObject({ success: false });
			expect(body.steps.at(-1).error).toContain(sink.rejection);
			for (const response of [shown, body, (await here("GET", "/audit_streams")).body])
				expect(JSON.stringify(response)).not.toContain(SECRET);
		});

		test("passes a test, which sends a sample", async () => {
			const { destination, events } = serverOf(type, sink);
			const home = await world();
			const { body: stream } = await home.here("POST", "/audit_streams", {
				body: { name: "Security", destination },
			});
			const { body } = await home.here("POST", `/audit_streams/${stream.id}/test`, { body: {} });
			expect(body).toMatchObject({ success: true });
			expect(await events()).toMatchObject([{ type: "audit_stream.tested" }]);
		});

		test("at another server gets the secret only if it is given again", async () => {
			const { destination } = serverOf(type, sink);
			const home = await world();
			const { body: stream } = await home.here("POST", "/audit_streams", {
				body: { name: "Security", destination },
			});
			const [setting = ""] =
				Object.entries(destination.config).find(([, value]) =>
					String(value).startsWith(env.SIEM_URL),
				) ?? [];
			const config = { [setting]: "http://127.0.0.1:9" };
			const path = `/audit_streams/${stream.id}`;
			for (const [method, at] of [
				["PATCH", path],
				["POST", `${path}/test`],
			] as const)
				expect(await home.here(method, at, { body: { destination: { config } } })).toMatchObject({
					status: 400,
					body: { detail: expect.stringContaining("Give the secret fields again") },
				});
		});

		test("is never at a private address", async () => {
			const { destination, events } = serverOf(type, sink);
			const { show } = await streaming(destination);
			await deliver({ ...env, ALLOW_PRIVATE_DESTINATIONS: "false" }, LATE);
			expect((await show()).latest_error).toContain("is a private address");
			expect(await events()).toEqual([]);
		});
	});
