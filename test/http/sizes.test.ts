import { beforeAll, describe, expect, test } from "vitest";
import { organizationId } from "../../src/db/organization_ids.ts";
import { batchExports } from "../../src/db/schema/batch_exports.ts";
import { domains } from "../../src/db/schema/domains.ts";
import { invites } from "../../src/db/schema/invites.ts";
import { pluginConfigs } from "../../src/db/schema/plugin_configs.ts";
import { plugins } from "../../src/db/schema/plugins.ts";
import { insertLog } from "../support/activity.ts";
import { CERTIFICATES } from "../support/domains.ts";
import { wrong } from "../support/errors.ts";
import { cost, db, times, world } from "../support/world.ts";

const KIB = 1024;

const bytesOf = (value: unknown) => new TextEncoder().encode(JSON.stringify(value)).length;

/** A text of exactly so many bytes in UTF-8. */
const textOf = (bytes: number, character = "é") => {
	const size = new TextEncoder().encode(character).length;
	return character.repeat(bytes / size) + "x".repeat(bytes % size);
};

/** A JSON object whose JSON has exactly so many bytes. */
const objectOf = (bytes: number, value: unknown = "x") => {
	const rest = bytes - bytesOf({ "": value });
	return { [textOf(rest)]: value };
};

/** Capabilities whose JSON has exactly so many bytes. */
const capabilitiesOf = (bytes: number) => {
	const full = Array.from({ length: 80 }, (_, i) => textOf(800, "🗼").slice(0, 394) + (100 + i));
	const rest = bytes - bytesOf({ methods: full, jobs: [""] });
	const jobs = Array.from({ length: Math.ceil((rest + 3) / 800) }, () => "");
	let left = rest - 3 * (jobs.length - 1);
	return {
		methods: full,
		jobs: jobs.map(() => {
			const size = Math.min(left, 797);
			left -= size;
			return textOf(size, "🗼");
		}),
	};
};

/** A certificate with text around it. */
const certificateOf = (bytes: number) => `${CERTIFICATES[0]}\n`.padEnd(bytes, "x");

describe("the size of a text is limited in bytes, and that of JSON as it is written", () => {
	/** A path, a field, its maximum, and a value of a given size. */
	const limits: [path: string, field: string, max: number, make: (bytes: number) => unknown][] = [
		["/plugins", "description", 8 * KIB, textOf],
		["/plugins", "icon", 64 * KIB, textOf],
		["/plugins", "config_schema", 64 * KIB, objectOf],
		["/plugins", "public_jobs", 64 * KIB, objectOf],
		["/plugins", "metrics", 64 * KIB, (bytes) => objectOf(bytes, "sum")],
		["/plugins", "capabilities", 64 * KIB, capabilitiesOf],
		["/configs", "config", 64 * KIB, objectOf],
		["/invites", "message", 8 * KIB, textOf],
		["/domains", "saml_x509_cert", 16 * KIB, certificateOf],
	];

	test.each(limits)("%s %s: %i bytes", async (path, field, max, make) => {
		const home = await world();
		const { body: plugin } = await home.here("POST", "/pipeline_destinations", { body: {} });
		const others: Record<string, object> = {
			"/plugins": {},
			"/configs": { plugin: plugin.id, order: 1 },
			"/invites": { target_email: `${crypto.randomUUID()}@tenantry.test`, send_email: false },
			"/domains": { domain: `${crypto.randomUUID()}.example.com` },
		};
		const at: Record<string, string> = {
			"/plugins": `/api/organizations/${home.id}/pipeline_destinations`,
			"/configs": `/api/projects/${home.project}/plugin_configs`,
		};
		const send = (bytes: number) =>
			home.ask("POST", at[path] ?? `/api/organizations/${home.id}${path}`, {
				body: { ...others[path], [field]: make(bytes) },
			});
		expect(await send(max + 1)).toMatchObject(
			wrong("max_length", `Ensure this field has no more than ${max} bytes.`, field),
		);
		const made = await send(max);
		expect(made.status).toBe(201);
		const value = made.body[field];
		expect(field === "config" ? JSON.parse(value) : value).toEqual(make(max));
	});

	test("the texts of plugin.json have the same limits", async () => {
		const home = await world();
		const { body: plugin } = await home.here("POST", "/pipeline_destinations", { body: {} });
		const path = `/pipeline_destinations/${plugin.id}/update_source`;
		const write = (bytes: number) =>
			home.here("PATCH", path, {
				body: { "plugin.json": JSON.stringify({ config: objectOf(bytes) }) },
			});
		expect(await write(64 * KIB + 1)).toMatchObject({
			status: 400,
			body: { attr: "plugin.json", detail: expect.stringContaining("64 KiB") },
		});
		expect(await write(64 * KIB)).toMatchObject({
			status: 200,
			body: { config_schema: objectOf(64 * KIB) },
		});
	});
});

test("a list of 25 configs of a plugin with the largest schema stays small, and names all its fields", async () => {
	const home = await world();
	const config_schema = [
		{ key: "token", type: "string", secret: true },
		{ key: "about", type: "string", hint: textOf(30 * KIB, "\\") },
	];
	const { body: plugin } = await home.here("POST", "/pipeline_destinations", {
		body: {
			name: "Large",
			config_schema,
			icon: textOf(64 * KIB),
			public_jobs: objectOf(64 * KIB),
			metrics: objectOf(64 * KIB, "max"),
		},
	});
	const path = `/api/projects/${home.project}/plugin_configs`;
	for (let order = 0; order < 25; order++)
		await home.ask("POST", path, {
			body: { plugin: plugin.id, order, enabled: true, config: { token: "secret" } },
		});
	const { body } = await home.ask("GET", path);
	expect([body.count, body.results.length, body.next]).toEqual([25, 25, null]);
	expect(bytesOf(body)).toBeLessThan(64 * KIB);
	const [first] = body.results;
	expect(JSON.parse(first.config)).toEqual({ token: expect.stringContaining("SECRET") });
	const large = { icon: null, config_schema: null, metrics: null, public_jobs: null };
	expect(JSON.parse(first.plugin_info)).toEqual({ ...plugin, ...large });
	const one = await home.ask("GET", `${path}/${first.id}`);
	expect(JSON.parse(one.body.plugin_info)).toEqual(plugin);
	const exporting = "/pipeline_destinations/exports_unsubscribe_configs";
	const { body: all } = await home.here("GET", exporting);
	expect(all).toMatchObject({ ...plugin, count: 25 });
	expect(JSON.parse(all.results[0].plugin_info)).toEqual({ ...plugin, ...large });
	expect(bytesOf(all.results)).toBeLessThan(64 * KIB);
});

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
			const ids = pages.flatMap(idsOf);
			expect(new Set(ids).size).toBe(ids.length);
			for (const [i, { body }] of pages.entries()) {
				expect(body.count).toBe(ids.length);
				expect(bytesOf(body.results)).toBeLessThanOrEqual(MAX_BYTES);
				const after = pages[i + 1]?.body.results[0];
				// What a list has more of than it shows may end a page, too: plugins of configs and of
				// entries.
				if (after && !/configs|activity$/.test(url.pathname))
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

	test("a page of large plugins is shorter than its limit, in one round trip", async () => {
		const { headers, body } = await home.ask("GET", `${lists["all plugins"]()}?limit=1000`);
		expect(cost({ status: 200, headers, body }).trips).toBe(1);
		expect(body.results.length).toBeLessThan(60);
	});
});

test("an object that is larger than a page comes alone, and the links lead past it", async () => {
	const home = await world();
	const sizes = [10, 900_000, 10, 900_000, 900_000, 10];
	for (const size of sizes)
		await db.insert(plugins).values({
			organization_id: organizationId(home.id),
			plugin_type: "source",
			capabilities: { methods: ["onEvent"] },
			// Six bytes each as JSON.
			icon: "\u0001".repeat(size),
		});
	const path = `/api/organizations/${home.id}/pipeline_destinations?limit=3`;
	const pages: number[][] = [];
	const starts: string[] = [];
	let at: string | null = path;
	while (at) {
		const { body }: Awaited<ReturnType<typeof home.ask>> = await home.ask("GET", at);
		expect(body.count).toBe(sizes.length);
		pages.push(body.results.map(({ icon }: { icon: string }) => icon.length));
		if (body.previous) starts.push(new URL(body.previous).searchParams.get("offset") ?? "0");
		at = body.next;
	}
	expect(pages).toEqual([[10], [900_000], [900_000], [10], [900_000], [10]]);
	expect(starts).toEqual(["0", "1", "2", "3", "4"]);
});
