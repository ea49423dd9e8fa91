import { env } from "cloudflare:workers";
import { beforeEach, expect, test } from "vitest";
import { SECRET } from "../../support/siems.ts";
import { stopPerformanceClock } from "../../support/time.ts";
import { world } from "../../support/world.ts";
import { describeServers } from "./sink_cases.ts";
import { rangesOf, SERVERS, serverOf } from "./sinks.ts";
import { deliver, HOUR, LATE, streaming } from "./support.ts";

beforeEach(stopPerformanceClock);

describeServers(["HTTP"]);

test("what a server has accepted isn't sent again after a later request fails", async () => {
	const { destination, accepted, plan } = serverOf("Datadog", SERVERS.Datadog);
	const { show, patch } = await streaming(destination, 2500);
	await plan("ok", "503");
	await deliver(env, LATE);
	expect((await show()).sequence).toBe(0);
	await deliver(env, LATE + HOUR);
	const { delivered_events } = await show();
	const all = ["1-1000", "1001-2000", `2001-${delivered_events}`];
	expect(rangesOf(await accepted())).toEqual(all);
	// After a change, the server may be another one.
	const next = serverOf("Datadog", SERVERS.Datadog);
	await next.plan("503");
	await patch({ destination: next.destination });
	expect((await show()).sequence).toBe(1);
});

test("a file whose delivery was begun goes to the new server as a whole", async () => {
	const [one, two] = [serverOf("Datadog", SERVERS.Datadog), serverOf("Datadog", SERVERS.Datadog)];
	const { patch, show } = await streaming(one.destination, 1500);
	await one.plan("ok", "503");
	await deliver(env, LATE);
	await patch({ destination: two.destination });
	await deliver(env, LATE + HOUR);
	const [first, second] = rangesOf(await two.accepted());
	expect([first, second]).toEqual(["1-1000", expect.stringMatching(/^1001-/)]);
	expect((await show()).latest_error).toBeNull();
});

test.each(["GCS", "AzureBlob"])(
	"%s is a bucket with the same settings as for exports",
	async (type) => {
		const home = await world();
		const config =
			type === "GCS"
				? { bucket_name: "our-audit", prefix: "a", hmac_access_id: "GOOG", hmac_secret: SECRET }
				: {
						container_name: "our-audit",
						account_name: "acme",
						prefix: "a",
						account_key: "c2VjcmV0",
					};
		const create = (more: object) =>
			home.here("POST", "/audit_streams", {
				body: { name: "Archive", destination: { type, config: { ...config, ...more } } },
			});
		const { status, body } = await create({ format: "OCSF" });
		expect({ status, destination: body.destination.config.format }).toEqual({
			status: 201,
			destination: "OCSF",
		});
		expect(JSON.stringify(body)).not.toContain(type === "GCS" ? SECRET : "c2VjcmV0");
		expect(await create({ format: "CEF" })).toMatchObject({
			status: 400,
			body: { attr: "destination__config__format", code: "invalid_choice" },
		});
		expect(await create({ file_format: "CSV" })).toMatchObject({
			status: 400,
			body: { detail: "Configuration has unknown field/s: 'file_format'" },
		});
	},
);
