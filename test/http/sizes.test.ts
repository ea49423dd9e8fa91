import { describe, expect, test } from "vitest";
import { organizationId } from "../../src/db/schema/organizations.ts";
import { plugins } from "../../src/db/schema/plugins.ts";
import { CERTIFICATE } from "../support/certificate.ts";
import { wrong } from "../support/errors.ts";
import { db, world } from "../support/world.ts";
import { bytesOf, KIB, textOf } from "./sizes.ts";

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
const certificateOf = (bytes: number) => `${CERTIFICATE}\n`.padEnd(bytes, "x");

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

test("a list of configs of a plugin with the largest schema stays small, and names all its fields", async () => {
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
	for (let order = 0; order < 3; order++)
		await home.ask("POST", path, {
			body: { plugin: plugin.id, order, enabled: true, config: { token: "secret" } },
		});
	const { body } = await home.ask("GET", path);
	expect([body.count, body.results.length, body.next]).toEqual([3, 3, null]);
	expect(bytesOf(body)).toBeLessThan(64 * KIB);
	const [first] = body.results;
	expect(JSON.parse(first.config)).toEqual({ token: expect.stringContaining("SECRET") });
	const large = { icon: null, config_schema: null, metrics: null, public_jobs: null };
	expect(JSON.parse(first.plugin_info)).toEqual({ ...plugin, ...large });
	const one = await home.ask("GET", `${path}/${first.id}`);
	expect(JSON.parse(one.body.plugin_info)).toEqual(plugin);
	const exporting = "/pipeline_destinations/exports_unsubscribe_configs";
	const { body: all } = await home.here("GET", exporting);
	expect(all).toMatchObject({ ...plugin, count: 3 });
	expect(JSON.parse(all.results[0].plugin_info)).toEqual({ ...plugin, ...large });
	expect(bytesOf(all.results)).toBeLessThan(64 * KIB);
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
