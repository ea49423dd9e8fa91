import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { unpack } from "../../../src/plugins/plugins/archive.ts";
import { manifest } from "../../../src/plugins/plugins/manifest.ts";
import { download, latest } from "../../../src/plugins/plugins/registries.ts";
import { HEAD, RELEASE, TOKEN } from "../../support/registry.ts";
import { stopClock } from "../../support/time.ts";

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

test("a rate limit is told, with its end", async () => {
	const headers = { "ratelimit-reset": "3600" };
	const name = `limited-${Buffer.from(JSON.stringify({ status: 429, headers })).toString("base64url")}`;
	stopClock();
	const at = new Date(Date.now() + 3_600_000).toISOString();
	for (const [query, who] of [
		["", "This service's rate limit at GitLab"],
		[`?private_token=${TOKEN}`, "The rate limit of the token at GitLab"],
	])
		await expect(latest(env, `${gitlab(name)}${query}`)).rejects.toMatchObject({
			message: expect.stringContaining(`${who} is used up. Try again after ${at}`),
		});
});

test.each([
	[npm("hello"), "1.1.0", "1.1.0", "1.1.0.tgz"],
	[npm("@scope/hello/v/1.0.0"), "1.0.0", "1.1.0", "1.0.0.tgz"],
	[npm("moved"), "1.1.0", "1.1.0", "new-1.1.0.tgz"],
	[github("hello"), HEAD, HEAD, HEAD],
	[github("hello/tree/v1/x"), RELEASE, RELEASE, RELEASE],
	[github("hello/releases/tag/v1%2Fx"), RELEASE, RELEASE, RELEASE],
	[github(`hello/commit/${RELEASE}`), RELEASE, RELEASE, RELEASE],
	[gitlab("hello"), HEAD, HEAD, HEAD],
	[gitlab("hello/-/tree/v1"), RELEASE, RELEASE, RELEASE],
])("%s determines which version is installed", async (url, tag, latest_tag, name) => {
	expect(await downloadedName(url)).toEqual({ tag, latest_tag, name });
	expect(await latest(env, url)).toEqual({ tag: latest_tag });
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

	test("if its registry isn’t configured", async () => {
		const none = { ...env, NPM_REGISTRY_URL: "", GITHUB_API_URL: "", GITLAB_API_URL: "" };
		for (const [url, label] of [
			[npm("hello"), "npm"],
			[github("hello"), "GitHub"],
			[gitlab("hello"), "GitLab"],
		] as const)
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
