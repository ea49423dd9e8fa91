import { beforeAll, describe, expect, test } from "vitest";
import { batchExports } from "../../src/db/schema/batch_exports.ts";
import { domains, organizationId } from "../../src/db/schema/organizations.ts";
import { invites } from "../../src/db/schema/people.ts";
import { pluginConfigs, plugins } from "../../src/db/schema/plugins.ts";
import { insertLog } from "../support/activity.ts";
import { cost, db, times, world } from "../support/world.ts";
import { bytesOf, KIB, textOf } from "./sizes.ts";

describe("a page ends at 4 MiB", () => {
	const MAX_BYTES = 4 * 2 ** 20;
	let home: Awaited<ReturnType<typeof world>>;

	/** Rows of about 60 to 120 KiB, so that pages of 40 to 70 are full. */
	const size = (i: number) => 60 * KIB + (i % 7) * 10 * KIB;
	const ROWS = 120;

	beforeAll(async () => {
		home = await world();
		const { id: organization_id, project: project_id, owner } = home;
		const NEVER = "9999-01-01T00:00:00.000Z";
		for (let from = 0; from < ROWS; from += 20)
			await times(20, (n) =>
				db.insert(plugins).values({
					organization_id: organizationId(organization_id),
					plugin_type: "source",
					name: `Plugin ${from + n}`,
					capabilities: { methods: ["onEvent"] },
					config_schema: [{ key: "a", hint: textOf(size(from + n)) }],
				}),
			);
		const [plugin] = await db
			.insert(plugins)
			.values({
				organization_id: organizationId(organization_id),
				plugin_type: "source",
				capabilities: { methods: ["onEvent"] },
			})
			.returning();
		const plugin_id = plugin?.id ?? 0;
		for (let from = 0; from < ROWS; from += 20) {
			await times(20, (n) =>
				db.insert(pluginConfigs).values({
					organization_id: organizationId(organization_id),
					project_id,
					plugin_id,
					enabled: true,
					order: (from + n) % 3,
					// Quotes are escaped twice in the answer: it is larger than the row.
					config: { text: '"'.repeat(size(from + n) / 4) },
				}),
			);
			await times(20, (n) =>
				db.insert(batchExports).values({
					organization_id: organizationId(organization_id),
					project_id,
					name: `Export ${from + n}`,
					destination: { type: "NoOp", config: { text: textOf(size(from + n)) } },
					interval: "hour",
					next_start_at: NEVER,
					next_end_at: NEVER,
					due_at: NEVER,
				}),
			);
			await insertLog(
				...Array.from({ length: 20 }, (_, n) => ({
					organization_id: home.organization_id,
					user_id: owner.id,
					activity: "updated",
					scope: "Plugin",
					item_id: String(plugin_id),
					changes: [
						{
							field: "icon",
							action: "changed" as const,
							before: null,
							after: textOf(size(from + n)),
						},
					],
				})),
			);
			await times(20, (n) =>
				db.insert(domains).values({
					organization_id: organizationId(organization_id),
					domain: `${from + n}-${organization_id}.example.com`,
					verification_challenge: "x",
					saml_x509_cert: "\n".repeat(size(from + n) / 2),
				}),
			);
			await times(20, (n) =>
				db.insert(invites).values({
					organization_id: organizationId(organization_id),
					target_email: `${from + n}-${organization_id}@tenantry.test`,
					created_by: owner.id,
					emailing_attempt_made: false,
					token_hash: crypto.randomUUID(),
					message: textOf(size(from + n)),
				}),
			);
		}
	});

	const lists = {
		"plugins of a family": () => `/api/organizations/${home.id}/pipeline_destinations`,
		"all plugins": () => `/api/organizations/${home.id}/plugins`,
		"found plugins": () => `/api/organizations/${home.id}/plugins?search=plugin`,
		"unused plugins": () => `/api/organizations/${home.id}/pipeline_destinations/unused`,
		"activity of plugins": () => `/api/organizations/${home.id}/pipeline_destinations/activity`,
		"exporting configs": () =>
			`/api/organizations/${home.id}/pipeline_destinations/exports_unsubscribe_configs`,
		"plugin configs": () => `/api/projects/${home.project}/plugin_configs`,
		exports: () => `/api/organizations/${home.id}/batch_exports`,
		"the activity log": () => `/api/organizations/${home.id}/activity_log`,
		domains: () => `/api/organizations/${home.id}/domains`,
		invites: () => `/api/organizations/${home.id}/invites`,
	};

	/** Follows a link of pages to its end. */
	async function follow(path: string, link: "next" | "previous") {
		const pages = [];
		let at: string | null = path;
		while (at) {
			const response = await home.ask("GET", at);
			expect(response.status).toBe(200);
			pages.push({ ...response, url: at });
			at = response.body[link];
		}
		return pages;
	}

	const idsOf = ({ body }: { body: { results: { id: unknown }[] } }) =>
		body.results.map(({ id }) => id);

	test.each(Object.entries(lists))(
		"of %s: each is there once, forwards and backwards",
		async (_, at) => {
			const url = new URL(at(), "https://tenantry.test");
			url.searchParams.set("limit", "1000");
			const pages = await follow(url.href, "next");
			expect(pages.length).toBeGreaterThan(1);
			expect(pages.map((page) => cost(page).trips)).toEqual(pages.map(() => 1));
			const ids = pages.flatMap(idsOf);
			expect(new Set(ids).size).toBe(ids.length);
			for (const [i, { body }] of pages.entries()) {
				expect(body.count).toBe(ids.length);
				expect(bytesOf(body.results)).toBeLessThanOrEqual(MAX_BYTES);
				const after = pages[i + 1]?.body.results[0];
				// What a list has more of than it shows may end a page, too: plugins of configs and of
				// entries, next windows of exports.
				if (after && !/configs|activity$|batch_exports$/.test(url.pathname))
					expect(bytesOf([...body.results, after])).toBeGreaterThan(MAX_BYTES);
			}
			const back = await follow(pages.at(-1)?.url ?? "", "previous");
			expect(back.map(idsOf).reverse()).toEqual(pages.map(idsOf));
			expect(back.at(-1)?.body.previous).toBeNull();
			const limited = await follow(`${url.href.replace("limit=1000", "limit=45")}`, "next");
			expect(limited.flatMap(idsOf)).toEqual(ids);
			const lengths = limited.map(({ body }) => body.results.length);
			expect(Math.max(...lengths)).toBeLessThanOrEqual(45);
		},
	);

	test("a page of the feed ends at 4 MiB, too", async () => {
		const pages = await follow(`/api/organizations/${home.id}/events?limit=1000`, "next");
		expect(pages.length).toBeGreaterThan(1);
		const ids = pages.flatMap(idsOf);
		expect(new Set(ids).size).toBe(ids.length);
		expect(ids.length).toBeGreaterThanOrEqual(ROWS);
		for (const { body } of pages) {
			expect(bytesOf(body.results)).toBeLessThanOrEqual(MAX_BYTES);
			expect(body.after).toBe(idsOf({ body }).at(-1));
		}
	});
});
