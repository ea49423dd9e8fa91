import { exports } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import document from "../../public/openapi.json" with { type: "json" };
import { ERROR_CODES } from "../../src/http/codes.ts";
import { call } from "../support/world.ts";

const get = (path: string, init: RequestInit = {}) =>
	exports.default.fetch(new URL(path, "https://tenantry.test"), { redirect: "manual", ...init });

type Seen = { links: string[]; assets: string[]; anchors: Set<string> };

/** The links, assets and anchors of a page. */
async function read(path: string) {
	const seen: Seen = { links: [], assets: [], anchors: new Set() };
	const take = (list: string[], attribute: string) => ({
		element(element: Element) {
			const value = element.getAttribute(attribute);
			if (value !== null) list.push(value);
		},
	});
	const response = await get(path);
	await new HTMLRewriter()
		.on("a[href]", take(seen.links, "href"))
		.on("link[href]", take(seen.assets, "href"))
		.on("script[src], img[src]", take(seen.assets, "src"))
		.on("[id]", { element: (element) => void seen.anchors.add(element.getAttribute("id") ?? "") })
		.transform(response.clone())
		.text();
	return { ...seen, response };
}

type Page = Awaited<ReturnType<typeof read>>;

/** All pages that links lead to from /docs, by path. */
async function crawl() {
	const pages = new Map<string, Page>();
	const waiting = ["/docs"];
	for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
		if (pages.has(path)) continue;
		const page = await read(path);
		pages.set(path, page);
		for (const link of page.links)
			if (link.startsWith("/docs")) waiting.push(link.split("#")[0] ?? "");
	}
	return pages;
}

/** Whether a link of the page at `from` leads to a page, and to an anchor of it. */
function resolves(pages: Map<string, Page>, from: string, link: string) {
	const [path, anchor] = link.split("#");
	const page = pages.get(path || from);
	return page !== undefined && (anchor === undefined || page.anchors.has(anchor));
}

const isOwn = (link: string) => /^[/#]/.test(link) && link !== "/openapi.json";

test("every link between the pages leads to a page and an anchor that exist", async () => {
	const pages = await crawl();
	expect([...pages.keys()]).toEqual(
		expect.arrayContaining(["/docs", "/docs/api", "/docs/reference", "/docs/internals/decisions"]),
	);
	const dead = [...pages].flatMap(([from, { links }]) =>
		links
			.filter((link) => isOwn(link) && !resolves(pages, from, link))
			.map((link) => `${from}: ${link}`),
	);
	expect(dead).toEqual([]);
	expect([...pages.values()].map(({ response }) => response.status)).toEqual(
		Array(pages.size).fill(200),
	);
});

test("every page has a table of contents, if it has sections, and the navigation", async () => {
	const pages = await crawl();
	for (const [path, { anchors, links }] of pages) {
		expect([path, anchors.has("pages"), links[0]]).toEqual([path, true, "#content"]);
		expect(links).toEqual(expect.arrayContaining(["/docs", "/docs/getting-started", "/docs/api"]));
	}
	expect(pages.get("/docs/api")?.links).toContain("#order-of-checks");
});

describe("the help of an error", () => {
	test("is a link to a section of these pages", async () => {
		const pages = await crawl();
		const { headers } = await call("GET", "/api/organizations");
		const [, link = ""] = /<([^>]+)>; rel="help"/.exec(headers.get("link") ?? "") ?? [];
		expect([link, resolves(pages, "", link)]).toEqual(["/docs/api#not_authenticated", true]);
	});

	test("exists for every code", async () => {
		const pages = await crawl();
		expect(ERROR_CODES.length).toBeGreaterThan(30);
		expect(ERROR_CODES.filter((code) => !resolves(pages, "", `/docs/api#${code}`))).toEqual([]);
	});
});

test("what pages load never changes, and its name changes with it", async () => {
	const pages = await crawl();
	const assets = new Set([...pages.values()].flatMap((page) => page.assets));
	expect(assets.size).toBeGreaterThanOrEqual(4);
	for (const asset of assets) {
		const { status, headers } = await get(asset);
		expect([asset, status, headers.get("cache-control")]).toEqual([
			asset,
			200,
			"public, max-age=31536000, immutable",
		]);
	}
	const gone = await get("/docs/assets/style.0000000000000000.css");
	expect([gone.status, gone.headers.get("cache-control")]).toEqual([
		404,
		"public, max-age=0, must-revalidate",
	]);
});

test("the API reference has each operation, and links it to its scope, fields and errors", async () => {
	const pages = await crawl();
	const operations = Object.values(document.paths).flatMap((methods) =>
		Object.values(methods).map(({ operationId, tags: [tag = ""] }) => {
			const path = `/docs/reference/${tag.toLowerCase().replaceAll(" ", "-")}`;
			return { path, operationId };
		}),
	);
	expect(operations.length).toBeGreaterThan(180);
	expect(
		operations.filter(({ path, operationId }) => !pages.get(path)?.anchors.has(operationId)),
	).toEqual([]);
	const overview = pages.get("/docs/reference")?.links ?? [];
	expect(
		operations.filter(({ path, operationId }) => !overview.includes(`${path}#${operationId}`)),
	).toEqual([]);
	const { response, links } = await read("/docs/reference/invites");
	expect(links).toEqual(expect.arrayContaining(["#Invite", "/docs/api#permission_denied"]));
	const text = await response.text();
	for (const part of ["organization_member:write", "target_email", "@current"])
		expect(text).toContain(part);
});

describe.each(["/docs", "/docs/api", "/docs/reference", "/docs/reference/invites"])(
	"%s",
	(path) => {
		test("runs and loads nothing from elsewhere, and is in no frame", async () => {
			const { headers } = await get(path);
			const policy = new Map(
				(headers.get("content-security-policy") ?? "")
					.split("; ")
					.map((directive) => [directive.split(" ")[0], directive.split(" ").slice(1)]),
			);
			expect(policy.get("default-src")).toEqual(["'none'"]);
			expect(policy.get("frame-ancestors")).toEqual(["'none'"]);
			expect(policy.get("script-src")).toEqual(["'self'"]);
			expect(policy.get("style-src")).toEqual(["'self'"]);
			const isReference = path.startsWith("/docs/reference");
			expect(policy.get("connect-src")).toEqual(isReference ? ["'self'"] : undefined);
			expect([...policy.values()].flat().filter((source) => /[.*]|https?:/.test(source))).toEqual(
				[],
			);
			expect(headers.get("referrer-policy")).toBe("no-referrer");
			expect(headers.get("x-content-type-options")).toBe("nosniff");
			expect(headers.get("cross-origin-opener-policy")).toBe("same-origin");
			expect(headers.get("x-request-id")).not.toBeNull();
		});
	},
);

test.each(["/docs/nowhere", "/docs/internals/decisions/nowhere", "/docs/assets/nowhere.js"])(
	"%s is a 404 with a page that leads back",
	async (path) => {
		const { response, links } = await read(path);
		expect([response.status, response.headers.get("content-type")]).toEqual([
			404,
			"text/html; charset=utf-8",
		]);
		expect(response.headers.get("content-security-policy")).toContain("default-src 'none'");
		expect(links).toContain("/docs");
	},
);
