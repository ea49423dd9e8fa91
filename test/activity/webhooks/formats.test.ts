import { env } from "cloudflare:workers";
import { v7 } from "uuid";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { deliver } from "../../../src/activity/webhooks/deliver.ts";
import { organizationId } from "../../../src/db/schema/organizations.ts";
import { unseal } from "../../../src/keys/secrets.ts";
import { insertLog } from "../../support/activity.ts";
import { change, type Hook, hook, lossy } from "../../support/webhooks.ts";
import { call, world } from "../../support/world.ts";

type Home = Awaited<ReturnType<typeof world>>;

const KEY = "R0123456789abcdefghijklmnopqrstu";

const FORMATS = ["slack", "teams", "pagerduty"] as const;

const bodyFor = (format: (typeof FORMATS)[number]) => ({
	format,
	...(format === "pagerduty" && { routing_key: KEY }),
});

const slackText = z.strictObject({
	type: z.literal("plain_text"),
	text: z.string().min(1).max(3000),
	emoji: z.boolean(),
});

const link = z.url({ protocol: /^https?$/ });

/** The shapes that the services document. */
const SHAPES = {
	slack: z.strictObject({
		text: z.string().min(1).max(4000),
		blocks: z
			.array(
				z.discriminatedUnion("type", [
					z.strictObject({ type: z.literal("section"), text: slackText }),
					z.strictObject({
						type: z.literal("context"),
						elements: z
							.array(
								z.union([
									slackText,
									z.strictObject({
										type: z.literal("mrkdwn"),
										text: z.string().regex(/^<[^<>|]+\|[^<>|]+>$/),
									}),
								]),
							)
							.min(1)
							.max(10),
					}),
				]),
			)
			.min(1)
			.max(50),
	}),
	teams: z.strictObject({
		type: z.literal("message"),
		attachments: z.tuple([
			z.strictObject({
				contentType: z.literal("application/vnd.microsoft.card.adaptive"),
				contentUrl: z.null(),
				content: z.strictObject({
					$schema: z.literal("http://adaptivecards.io/schemas/adaptive-card.json"),
					type: z.literal("AdaptiveCard"),
					version: z.enum(["1.2", "1.3", "1.4"]),
					body: z
						.array(
							z.strictObject({
								type: z.literal("RichTextBlock"),
								inlines: z.array(
									z.strictObject({
										type: z.literal("TextRun"),
										text: z.string().min(1),
										weight: z.enum(["Lighter", "Default", "Bolder"]).optional(),
										isSubtle: z.boolean().optional(),
									}),
								),
							}),
						)
						.min(1),
					actions: z.array(
						z.strictObject({ type: z.literal("Action.OpenUrl"), title: z.string(), url: link }),
					),
				}),
			}),
		]),
	}),
	pagerduty: z.discriminatedUnion("event_action", [
		z.strictObject({
			routing_key: z.literal(KEY),
			event_action: z.literal("trigger"),
			dedup_key: z.string().min(1).max(255),
			payload: z.strictObject({
				summary: z.string().min(1).max(1024),
				source: z.string().min(1),
				severity: z.enum(["critical", "error", "warning", "info"]),
				timestamp: z.iso.datetime(),
				component: z.string().optional(),
				class: z.string(),
				custom_details: z.record(z.string(), z.string()),
			}),
			links: z.array(z.strictObject({ href: link, text: z.string() })),
		}),
		z.strictObject({
			routing_key: z.literal(KEY),
			event_action: z.literal("resolve"),
			dedup_key: z.string().min(1).max(255),
		}),
	]),
};

/** Writes an event of an export run. */
const writeRun = (
	home: Home,
	activity: string,
	{
		batch_export_id = v7(),
		...more
	}: { batch_export_id?: string; name?: string; trigger?: Record<string, unknown> } = {},
) =>
	insertLog({
		organization_id: organizationId(home.id),
		activity,
		scope: "BatchExportRun",
		item_id: "run",
		is_system: true,
		name: "To the warehouse",
		trigger: { batch_export_id, run_id: "run", error: "HTTP 400.", next_step: "Retry it." },
		...more,
	});

/** Returns the bodies that the endpoint received, parsed, without checking anything. */
const bodies = async (one: Hook) => (await one.messages()).map(({ text }) => JSON.parse(text));

const RUNS = { types: ["batch_export_run.*"] };

/** Delivers one event to a new webhook, and returns the body. */
async function bodyOf(
	home: Home,
	format: (typeof FORMATS)[number],
	write: () => Promise<unknown>,
	{ types = RUNS.types, ...strange }: { types?: string[] } & Partial<Env> = {},
) {
	const one = await hook(home, "", { ...bodyFor(format), types });
	await write();
	await deliver({ ...env, ...lossy, ...strange }, { webhook: one.id });
	const [body, ...others] = await bodies(one);
	expect(others).toEqual([]);
	return SHAPES[format].parse(body);
}

const MARKUP = "<!channel> & *Größe* [x](https://evil.example) 日本";

describe("a message", () => {
	test("for Slack has the words and the page, with its markup escaped", async () => {
		const home = await world();
		const batch_export_id = v7();
		const body = await bodyOf(home, "slack", () =>
			writeRun(home, "failed", { batch_export_id, name: MARKUP }),
		);
		const title = "Run failed: “&lt;!channel&gt; &amp; *Größe* [x](https://evil.example) 日本”";
		const plain = (text: string) => ({ type: "plain_text", text, emoji: false });
		const page = `${env.APP_URL}/console/${home.id}/batch_exports/${batch_export_id}/runs/run`;
		expect(body).toEqual({
			text: `${title}: HTTP 400. Retry it.`,
			blocks: [
				{ type: "section", text: plain(title) },
				{ type: "section", text: plain("HTTP 400. Retry it.") },
				{
					type: "context",
					elements: [
						plain("By the service"),
						{ type: "mrkdwn", text: `<${page}|Open in the console>` },
					],
				},
			],
		});
	});

	test("for Teams has the words and the page, in blocks without markup", async () => {
		const home = await world();
		const batch_export_id = v7();
		const body = await bodyOf(home, "teams", () =>
			writeRun(home, "failed", { batch_export_id, name: MARKUP }),
		);
		const { content } = SHAPES.teams.parse(body).attachments[0];
		expect(content.body.map(({ inlines }) => inlines.map(({ text }) => text))).toEqual([
			[`Run failed: “${MARKUP}”`],
			["HTTP 400. Retry it."],
			["By the service"],
		]);
		expect(content.actions.map(({ url }) => url)).toEqual([
			`${env.APP_URL}/console/${home.id}/batch_exports/${batch_export_id}/runs/run`,
		]);
	});

	test("for PagerDuty triggers an alert, which a completed run of the same export resolves", async () => {
		const home = await world();
		const batch_export_id = v7();
		const one = await hook(home, "", { ...bodyFor("pagerduty"), ...RUNS });
		await writeRun(home, "failed", { batch_export_id, name: MARKUP });
		await writeRun(home, "failed", { batch_export_id });
		await writeRun(home, "failed");
		await writeRun(home, "skipped", { batch_export_id });
		await writeRun(home, "completed", { batch_export_id });
		await deliver({ ...env, ...lossy }, { webhook: one.id });
		const [first, again, other, skipped, completed] = await bodies(one);
		for (const body of [first, again, other, skipped, completed]) SHAPES.pagerduty.parse(body);
		expect(first).toMatchObject({
			event_action: "trigger",
			payload: {
				summary: `Run failed: “${MARKUP}”: HTTP 400. Retry it.`,
				source: new URL(env.APP_URL).host,
				severity: "error",
				component: MARKUP,
				class: "batch_export_run.failed",
				custom_details: { actor: "By the service" },
			},
			links: [
				{ href: `${env.APP_URL}/console/${home.id}/batch_exports/${batch_export_id}/runs/run` },
			],
		});
		expect(completed).toEqual({
			routing_key: KEY,
			event_action: "resolve",
			dedup_key: first.dedup_key,
		});
		expect(again.dedup_key).toBe(first.dedup_key);
		expect(skipped.payload.severity).toBe("warning");
		expect(new Set([first, other, skipped].map(({ dedup_key }) => dedup_key)).size).toBe(3);
	});

	test.each(FORMATS)("for %s names the person who did it", async (format) => {
		const home = await world();
		const body = await bodyOf(home, format, () => change(home, lossy), {
			types: ["organization.updated"],
		});
		const text = JSON.stringify(body);
		expect(text).toContain("Organization settings changed");
		expect(text).toContain(`By ${home.owner.first_name} (${home.owner.email})`);
		expect(text).toContain(`${env.APP_URL}/console/${home.id}/activity`);
	});

	test.each(FORMATS)("for %s has no link without an address of the service", async (format) => {
		const home = await world();
		const write = () => writeRun(home, "failed");
		const text = JSON.stringify(await bodyOf(home, format, write, { APP_URL: "" }));
		expect(text).toContain("Run failed");
		expect(text).not.toContain("console");
	});

	test.each(FORMATS)("for %s stays within the limits of the service", async (format) => {
		const home = await world();
		const trigger = { error: `\u202e${"<&>".repeat(200)}`, next_step: "&".repeat(10_000) };
		const body = await bodyOf(home, format, () =>
			writeRun(home, "failed", { name: "🦔&<".repeat(200), trigger }),
		);
		expect(JSON.stringify(body)).not.toContain("\u202e");
	});
});

describe("the format of a webhook", () => {
	test("is used by tests, retries and replays, too", async () => {
		const format = "slack";
		const home = await world();
		const one = await hook(home, "200,500", { ...bodyFor(format), ...RUNS });
		const tested = await home.here("POST", `${one.at}/test`);
		expect(tested.body).toMatchObject({ status: "delivered", type: "webhook.test" });
		await writeRun(home, "failed");
		for (let i = 0; i < 2; i++) {
			await one.due();
			await deliver({ ...env, ...lossy }, { webhook: one.id });
		}
		const delivery = (await one.deliveries()).at(-1);
		const replayed = await home.here("POST", `${one.at}/deliveries/${delivery?.id}/replay`);
		expect(replayed.body).toMatchObject({ status: "delivered", reason: "replay" });
		const [test, ...others] = await bodies(one);
		expect(JSON.stringify(SHAPES[format].parse(test))).toContain("Test: ");
		expect(others).toHaveLength(3);
		for (const body of others) expect(body).toEqual(others[0]);
		expect(JSON.stringify(SHAPES[format].parse(others[0]))).toContain("Run failed");
		expect((await one.messages()).every(({ headers }) => headers["webhook-signature"])).toBe(true);
	});

	test("is shown, and stays as it is", async () => {
		const home = await world();
		const format = "teams";
		const one = await hook(home, "", { ...bodyFor(format), enabled: false });
		const other = { format: "standard", description: "Changed" };
		expect((await one.patch(other)).body).toMatchObject({ format, description: "Changed" });
		expect((await home.here("GET", "/webhooks")).body.results).toMatchObject([{ format }]);
	});
});

const url = "https://192.0.2.1/hook";

test.each([
	[{ url, format: "discord" }, "format", "invalid_choice"],
	[{ url, format: "pagerduty" }, "routing_key", "required"],
	[{ url, format: "pagerduty", routing_key: "" }, "routing_key", "blank"],
	[{ url, format: "pagerduty", routing_key: "x".repeat(101) }, "routing_key", "max_length"],
	[{ url, format: "slack", routing_key: KEY }, "routing_key", "invalid_input"],
	[{ url, routing_key: KEY }, "routing_key", "invalid_input"],
	[{ format: "teams" }, "url", "required"],
])("%j is rejected", async (body, attr, code) => {
	const { here } = await world();
	const response = await here("POST", "/webhooks", { body });
	expect([response.status, response.body.attr, response.body.code]).toEqual([400, attr, code]);
});

describe("the routing key", () => {
	test("is sealed in the database, for its row, and never shown", async () => {
		const home = await world();
		const one = await hook(home, "", { ...bodyFor("pagerduty"), enabled: false });
		const { routing_key, id } = await one.row();
		expect(routing_key).toMatch(/^sealed:/);
		const place = { table: "webhooks", row: id, field: "routing_key" };
		expect(await unseal(env, routing_key ?? "", place)).toBe(KEY);
		const responses = [
			await one.patch({ description: "Changed" }),
			await home.here("GET", one.at),
			await home.here("POST", `${one.at}/roll`),
			await home.here("GET", "/activity_log"),
			await call("GET", `/api/organizations/${home.id}/events`, { key: home.key }),
		];
		expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
		expect(JSON.stringify(responses)).not.toContain(KEY);
	});

	test("is masked in errors that quote it", async () => {
		const home = await world();
		const quoted = new TextEncoder().encode(`bad ${KEY}`).toBase64({ alphabet: "base64url" });
		const address = `${env.RECEIVER_URL}/body/400/${quoted}`;
		const one = await hook(home, "", { ...bodyFor("pagerduty"), url: address, enabled: false });
		const { body } = await home.here("POST", `${one.at}/test`);
		expect(body.error).toContain('answered 400: "bad ***"');
	});

	test("is never sent to another server", async () => {
		const home = await world();
		const { body } = await home.here("POST", "/webhooks", { body: bodyFor("pagerduty") });
		const path = `/webhooks/${body.id}`;
		const url = "https://hooks.example.com/v2/enqueue";
		expect(await home.here("PATCH", path, { body: { url } })).toMatchObject({
			status: 400,
			body: { attr: "url" },
		});
		const same = { url: `${new URL(body.url).origin}/other` };
		expect((await home.here("PATCH", path, { body: same })).status).toBe(200);
	});

	test("alone makes a webhook, for PagerDuty itself", async () => {
		const { here } = await world();
		const body = { ...bodyFor("pagerduty"), enabled: false };
		const response = await here("POST", "/webhooks", { body });
		expect(response).toMatchObject({
			status: 201,
			body: { url: "https://events.pagerduty.com/v2/enqueue" },
		});
	});
});
