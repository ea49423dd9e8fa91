import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { unpack } from "../../../src/plugins/plugins/archive.ts";
import { manifest } from "../../../src/plugins/plugins/manifest.ts";
import { download, latest } from "../../../src/plugins/plugins/registries.ts";
import { world } from "../../support/world.ts";

const NPM_REGISTRY_URL = env.PUBLISHED_NPM_REGISTRY_URL;
const npm = (name: string) => `https://www.npmjs.com/package/@posthog/${name}`;
const published = { ...env, NPM_REGISTRY_URL };
/** Why the tests are skipped, for their name; "" if they run. */
const skipped =
	NPM_REGISTRY_URL === ""
		? " (skipped: no npm registry is configured)"
		: await latest(published, npm("geoip-plugin")).then(
				() => "",
				() => " (skipped: the npm registry can't be reached)",
			);

describe.skipIf(skipped)(`a package of the npm registry${skipped}`, () => {
	test.each([
		["geoip", "GeoIP", { methods: ["processEvent"] }],
		["property-filter", "Property Filter", { methods: ["setupPlugin", "processEvent"] }],
		["semver-flattener", "posthog-semver-flattener", { methods: ["processEvent"] }],
		["taxonomy", "Taxonomy Plugin", {}],
	])("%s can be installed, checked for updates and upgraded", async (name, title, capabilities) => {
		const { here } = await world();
		const ask = (method: string, below: string, body?: object) =>
			here(method, `/pipeline_frontend_apps${below}`, { body, env: { NPM_REGISTRY_URL } });
		const url = npm(`${name}-plugin/v/0.0.7`);
		const created = await ask("POST", "", { url });
		const plugin = { url, tag: "0.0.7", name: title, capabilities };
		expect(created).toMatchObject({ status: 201, body: plugin });
		const at = `/${created.body.id}`;
		const check = await ask("GET", `${at}/check_for_updates`);
		expect(check).toMatchObject({ status: 200, body: { latest_tag: expect.any(String) } });
		expect(await ask("POST", `${at}/upgrade`)).toMatchObject({ status: 200, body: plugin });
		const { files } = (await ask("GET", `${at}/source`)).body;
		expect(Object.keys(files)).toContain("plugin.json");
		expect(Object.keys(files)).not.toContain("logo.png");
	});

	test("that is not a plugin is rejected", async () => {
		const { bytes } = await download(published, npm("plugin-contrib"));
		const files = await unpack(bytes);
		expect(files.get("package.json")).toContain("@posthog/plugin-contrib");
		expect(() => manifest(files)).toThrow("Could not find plugin.json in the plugin");
	});
});
