import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { verifyWebhook } from "../../../packages/client/src/index.ts";
import { deliver } from "../../../src/activity/webhooks/deliver.ts";
import { change, hook, lossy } from "../../support/webhooks.ts";
import { world } from "../../support/world.ts";

test("an event is signed: the client and the published library of another language verify it", async ({
	skip,
}) => {
	const home = await world("Größe 🦔");
	const one = await hook(home, "500", { enabled: false });
	await change(home, lossy);
	for (let i = 0; i < 2; i++) {
		await one.due({ enabled: true });
		await deliver({ ...env, ...lossy }, { webhook: one.id });
	}
	await change(home);
	await one.idle();
	const messages = await one.messages();
	expect(messages).toHaveLength(3);
	const [first, again] = messages;
	expect(again?.headers["webhook-id"]).toBe(first?.headers["webhook-id"]);
	for (const { text, headers } of messages)
		expect(await verifyWebhook(text, headers, one.secret)).toEqual(JSON.parse(text));
	const other = `whsec_${btoa("another secret, also 32 bytes...")}`;
	const lines = [one.secret, other].flatMap((secret) =>
		messages.map(({ text, headers }) => JSON.stringify({ secret, headers, body: text })),
	);
	const body = `${lines.join("\n")}\n`;
	const answer = await fetch(`${env.RECEIVER_URL}/verify`, { method: "POST", body });
	const verdicts = (await answer.text()).trim();
	const wrong = "WebhookVerificationError: No matching signature found";
	if (verdicts === "null") return skip("The Python library can't be installed.");
	expect(verdicts.split("\n")).toEqual([...messages.map(() => "ok"), ...messages.map(() => wrong)]);
});

test("an endpoint gets an event that failed a second time after five seconds, without the schedule", async () => {
	const home = await world();
	const one = await hook(home, "503,slow,204");
	await change(home);
	await one.idle();
	const feed = (await one.feed()).map(({ id }) => id);
	expect(await one.ids()).toEqual([feed[0], ...feed]);
	const [first, second] = await one.deliveries();
	const pause = Date.parse(second?.created_at ?? "") - Date.parse(first?.created_at ?? "");
	expect(pause).toBeGreaterThan(4500);
});
