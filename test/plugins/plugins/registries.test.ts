import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { unpack } from "../../../src/plugins/plugins/archive.ts";
import { manifest } from "../../../src/plugins/plugins/manifest.ts";
import { download, identify, latest } from "../../../src/plugins/plugins/registries.ts";
import { HEAD, RELEASE, TOKEN } from "../../support/registry.ts";
import { stopClock } from "../../support/time.ts";
import { world } from "../../support/world.ts";

const rejection = (detail: string) => ({
	status: 400,
	body: { type: "validation_error", code: "invalid_input", detail, attr: null },
});
const npm = (name: string) => `https://www.npmjs.com/package/${name}`;
const github = (path: string) => `https://github.com/u/${path}`;
const gitlab = (path: string) => `https://gitlab.com/g/sub/${path}`;

/**
 * The versions, and the name in the archive's plugin.json, which says which archive was downloaded.
 */
const downloadedName = async (url: string) => {
	const { bytes, ...versions } = await download(env, url);
	return { ...versions, name: manifest(await unpack(bytes)).name };
};

/** A name for which the registry responds with this status and these headers. */
const limited = (status: number, headers: Record<string, string>) =>
	`limited-${Buffer.from(JSON.stringify({ status, headers })).toString("base64url")}`;

describe("a rate limit is told, with its end and what helps", () => {
	const OWN = ", or add ?private_token= with a token of your own";
	test.each<[string, (name: string) => string, number, (at: Date) => Record<string, string>]>([
		[
			"GitHub's",
			github,
			403,
			(at) => ({ "x-ratelimit-remaining": "0", "x-ratelimit-reset": `${+at / 1000}` }),
		],
		["GitHub's 429", github, 429, (at) => ({ "x-ratelimit-reset": `${+at / 1000}` })],
		["GitHub's second one", github, 403, () => ({ "retry-after": "3600" })],
		["GitLab's", gitlab, 429, (at) => ({ "ratelimit-reset": `${+at / 1000}` })],
		["npm's", npm, 429, (at) => ({ "retry-after": at.toUTCString() })],
		["one in seconds", gitlab, 429, () => ({ "ratelimit-reset": "3600" })],
	])("%s", async (_, page, status, headersAt) => {
		stopClock();
		const at = new Date(Date.now() + 3_600_000);
		const url = page(limited(status, headersAt(at)));
		const told = (words: string) => ({ message: expect.stringContaining(words) });
		const words = `is used up. Try again after ${at.toISOString()}`;
		await expect(latest(env, url)).rejects.toMatchObject(told(words + OWN));
		const withToken = latest(env, `${url}?private_token=${TOKEN}`);
		await expect(withToken).rejects.toMatchObject(told(`${words}.`));
	});

	test.each([
		[429, {}, "is used up. Try again later"],
		[429, { "retry-after": "99999999999" }, "is used up. Try again later"],
		[429, { "x-ratelimit-reset": "soon" }, "is used up. Try again later"],
		[403, { "x-ratelimit-remaining": "7" }, "it responded with HTTP status 403."],
	])("%i with %j", async (status, headers, words) => {
		const asked = latest(env, github(limited(status, headers)));
		await expect(asked).rejects.toMatchObject({ message: expect.stringContaining(words) });
	});
});

describe("a URL determines which version is installed", () => {
	test.each([
		[npm("hello"), "1.1.0", "1.1.0", "1.1.0.tgz"],
		["https://npmjs.com/package/hello/", "1.1.0", "1.1.0", "1.1.0.tgz"],
		[npm("@scope/hello"), "1.1.0", "1.1.0", "1.1.0.tgz"],
		[npm("@scope/hello/v/1.0.0"), "1.0.0", "1.1.0", "1.0.0.tgz"],
		[npm("moved"), "1.1.0", "1.1.0", "new-1.1.0.tgz"],
		[github("hello"), HEAD, HEAD, HEAD],
		[github("hello.git"), HEAD, HEAD, HEAD],
		[github("hello/?tab=readme#top"), HEAD, HEAD, HEAD],
		[github("hello/tree/v1/x"), RELEASE, RELEASE, RELEASE],
		[github("hello/releases/tag/v1%2Fx"), RELEASE, RELEASE, RELEASE],
		[github(`hello/commit/${RELEASE}`), RELEASE, RELEASE, RELEASE],
		[gitlab("hello"), HEAD, HEAD, HEAD],
		[gitlab("hello.git/"), HEAD, HEAD, HEAD],
		[gitlab("hello/-/tree/v1"), RELEASE, RELEASE, RELEASE],
		[gitlab("hello/-/commit/v1"), RELEASE, RELEASE, RELEASE],
	])("%s", async (url, tag, latest_tag, name) => {
		expect(await downloadedName(url)).toEqual({ tag, latest_tag, name });
		expect(await latest(env, url)).toEqual({ tag: latest_tag });
	});

	test.each([
		"",
		"hello",
		"https://example.com/u/hello",
		"https://constructor/u/hello",
		"http://github.com:444/u/hello",
		"ftp://github.com/u/hello",
		"https://github.com:444/u/hello",
		"https://github.com@127.0.0.1/u/hello",
		"https://someone:secret@github.com/u/hello",
		"https://github.com.example.com/u/hello",
		"https://github.com/u",
		"https://github.com/u/hello/issues",
		"https://github.com/u/hello/../../..",
		"https://gitlab.com/group",
		"https://gitlab.com/g/hello/-/issues",
		"https://www.npmjs.com/hello",
		"https://www.npmjs.com/package/",
		"https://www.npmjs.com/package/a/b",
		"https://www.npmjs.com/package/hello/v/",
		"https://www.npmjs.com/package/hello/v/constructor",
	])("%s is rejected", async (url) => {
		await expect(download(env, url)).rejects.toMatchObject(
			rejection("Must be a GitHub/GitLab repository or a npm package URL!"),
		);
	});
});

test.each([
	[
		"https://github.com/u/Hello",
		[
			"https://github.com/u/Hello/",
			"https://github.com/u/Hello.git",
			"https://github.com/u/Hello.git/",
			"https://www.github.com/u/Hello",
			"http://github.com/u/Hello//",
			"HTTP://GitHub.com:80/u/Hello?tab=readme#top",
		],
	],
	[
		"https://github.com/u/hello/tree/v1",
		["https://github.com/u/hello/commit/v1", "https://github.com/u/hello/releases/tag/v1/"],
	],
	["https://gitlab.com/g/sub/hello", ["http://www.gitlab.com/g/sub/hello.git/"]],
	[
		"https://gitlab.com/g/hello/-/tree/v1",
		["https://gitlab.com/g/hello/-/tags/v1", "https://gitlab.com/g/hello.git/-/commit/v1/"],
	],
	[
		"https://www.npmjs.com/package/hello",
		["https://npmjs.com/package/hello/", "http://NPMJS.com/package/hello"],
	],
	[
		"https://www.npmjs.com/package/@scope/hello/v/1.0.0",
		["https://npmjs.com/package/@scope/hello/v/1.0.0/?activeTab=code"],
	],
])("%s is the canonical form of all its spellings", (address, urls) => {
	expect([address, ...urls].map((url) => identify(url).address)).toEqual(
		Array(urls.length + 1).fill(address),
	);
});

describe("the token of a private source is sent to it and appears in no error", () => {
	test.each([npm("private"), github("private"), gitlab("private")])("%s", async (url) => {
		const withToken = `${url}?private_token=${TOKEN}`;
		expect(await downloadedName(withToken)).toHaveProperty("name");
		const wrong = await download(env, `${url}?private_token=wrong`).catch(
			({ body }) => body.detail,
		);
		expect(wrong).toMatch(/^Could not find .* (\S+\/)?private\.$/);
		// Not a valid header value.
		await expect(download(env, `${url}?private_token=secret%0Asecret`)).rejects.toMatchObject(
			rejection(wrong.replace("find", "reach")),
		);
	});
});

describe("an error names the package or repository", () => {
	test.each([
		[npm("absent"), "Could not find npm package absent."],
		[npm("hello/v/9.9.9"), "Could not find version 9.9.9 of npm package hello."],
		[npm("failing"), "Could not reach npm package failing: it responded with HTTP status 503."],
		[npm("talking"), "Could not read the metadata of npm package talking."],
		[npm("flooding"), "Could not read npm package flooding: it is larger than 4 MiB."],
		[npm("huge"), "Could not read npm package huge: it is larger than 10 MiB."],
		[npm("looping"), "Could not reach npm package looping: too many redirects."],
		[github("hello/tree/v9"), "Could not find GitHub repository u/hello at v9."],
		[gitlab("hello/-/tree/v9"), "Could not find GitLab repository g/sub/hello at v9."],
		["https://gitlab.com/g/absent", "Could not find GitLab repository g/absent."],
	])("%s", async (url, detail) => {
		await expect(download(env, url)).rejects.toMatchObject(rejection(detail));
	});

	test("an archive of exactly 10 MiB is accepted", async () => {
		const { bytes } = await download(env, npm("full"));
		expect(bytes.length).toBe(10 * 2 ** 20);
	});

	test.each(["hanging", "dripping"])(
		"a registry that is %s is given up after the timeout",
		async (name) => {
			await expect(latest(env, npm(name), 300)).rejects.toMatchObject(
				rejection(`Could not reach npm package ${name} within 0.3 seconds.`),
			);
		},
	);

	test("of a registry that can’t be reached", async () => {
		const nobody = { ...env, GITLAB_API_URL: env.DOH_NOBODY };
		await expect(latest(nobody, gitlab("hello"))).rejects.toMatchObject({
			status: 400,
			body: {
				detail: expect.stringMatching(/^Could not reach GitLab repository g\/sub\/hello/),
			},
		});
	});

	test.each([
		[npm("hello"), "npm"],
		[github("hello"), "GitHub"],
		[gitlab("hello"), "GitLab"],
	])("of %s if its registry isn’t configured", async (url, label) => {
		const none = {
			...env,
			NPM_REGISTRY_URL: "",
			GITHUB_API_URL: "",
			GITLAB_API_URL: "",
		};
		await expect(download(none, url)).rejects.toMatchObject(
			rejection(`Installing from ${label} is not configured.`),
		);
	});
});

test("a host that is not configured is never requested", async () => {
	for (const [url, subject] of [
		[npm("foreign"), "npm package foreign"],
		[npm("straying"), "npm package straying"],
		[github("straying"), "GitHub repository u/straying"],
	] as const)
		await expect(download(env, url)).rejects.toMatchObject(
			rejection(`Could not reach ${subject}: it is on a host that is not configured.`),
		);
	await expect(download({ ...env, GITHUB_ARCHIVE_URL: "" }, github("hello"))).rejects.toMatchObject(
		{ status: 400 },
	);
	expect(await (await fetch(env.FOREIGN_URL)).json()).toEqual({ asked: 0 });
});

const real = { ...env, NPM_REGISTRY_URL: env.PUBLISHED_NPM_REGISTRY_URL };
const PUBLISHED = npm("@posthog/geoip-plugin/v/0.0.7");
const unreachable =
	real.NPM_REGISTRY_URL === ""
		? "no npm registry is configured"
		: await latest(real, PUBLISHED).then(
				() => "",
				() => "the npm registry can’t be reached",
			);

describe.skipIf(unreachable)(
	`published packages${unreachable && ` (skipped: ${unreachable})`}`,
	() => {
		test("a published plugin can be unpacked and its manifest read", async () => {
			const { tag, latest_tag, bytes } = await download(real, PUBLISHED);
			expect([tag, latest_tag]).toEqual(["0.0.7", expect.any(String)]);
			const files = await unpack(bytes);
			expect(manifest(files)).toMatchObject({
				name: "GeoIP",
				main: "index.ts",
				config_schema: [],
				public_jobs: {},
			});
			expect(files.get("index.ts")).toContain("processEvent");
			expect([...files.keys()]).not.toContain("logo.png");
		});

		/** A plugin that was installed from the npm registry, and requests to it as its owner. */
		async function installPublished(name: string) {
			const { here } = await world();
			const url = npm(`@posthog/${name}-plugin/v/0.0.7`);
			const env = { NPM_REGISTRY_URL: real.NPM_REGISTRY_URL };
			const created = await here("POST", "/pipeline_frontend_apps", {
				body: { url },
				env,
			});
			expect(created).toMatchObject({ status: 201, body: { tag: "0.0.7", url } });
			const at = `/pipeline_frontend_apps/${created.body.id}`;
			return {
				plugin: created.body,
				ask: (method: string, below: string) => here(method, `${at}${below}`, { env }),
			};
		}

		test.each([
			["geoip", "GeoIP", { methods: ["processEvent"] }],
			["property-filter", "Property Filter", { methods: ["setupPlugin", "processEvent"] }],
			["semver-flattener", "posthog-semver-flattener", { methods: ["processEvent"] }],
			["taxonomy", "Taxonomy Plugin", {}],
		])(
			"the plugin %s can be installed through the API",
			async (package_name, name, capabilities) => {
				const { plugin } = await installPublished(package_name);
				expect(plugin.name).toBe(name);
				expect(plugin.capabilities).toEqual(capabilities);
			},
		);

		test("a plugin can be checked for updates and upgraded", async () => {
			const { ask } = await installPublished("taxonomy");
			expect(await ask("GET", "/check_for_updates")).toMatchObject({
				status: 200,
				body: { update_available: false, latest_tag: "0.0.7" },
			});
			expect(await ask("POST", "/upgrade")).toMatchObject({
				status: 200,
				body: { tag: "0.0.7", name: "Taxonomy Plugin" },
			});
			const { body } = await ask("GET", "/source");
			expect(Object.keys(body.files).sort()).toEqual(["index.js", "plugin.json"]);
		});

		test("a package that is not a plugin is rejected", async () => {
			const { bytes } = await download(real, npm("@posthog/plugin-contrib"));
			const files = await unpack(bytes);
			expect(files.get("package.json")).toContain("@posthog/plugin-contrib");
			expect(() => manifest(files)).toThrow("Could not find plugin.json in the plugin");
		});
	},
);
