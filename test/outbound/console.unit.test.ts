import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { consoleOf, ownPages } from "../../src/outbound/console.ts";

/** The paths of the page table, and those that `app.tsx` has without a page there. */
const paths = [
	"/console",
	"/console/sign_in",
	...[
		...readFileSync("packages/console/src/pages.ts", "utf8").matchAll(/^\t+\[?\s*"(\/[^"]*)"/gm),
	].map(([, path = ""]) => (path.startsWith("/console") ? path : `/console/:organization${path}`)),
	"/console/:organization/service_accounts/:account/keys/:key",
];

/** A pattern of the page table as a regular expression. */
const patternOf = (path: string) =>
	new RegExp(
		`^${path
			.replace(/\/$/, "")
			.replaceAll(/\/:\w+\?/g, "(/[^/]+)?")
			.replaceAll(/:\w+/g, "[^/]+")}$`,
	);

const addresses = [ownPages, consoleOf("o")].flatMap((pages) =>
	Object.entries(pages).map(([name, page]): [string, string] => [
		name,
		typeof page === "string" ? page : page("a", "b"),
	]),
);

test.each(addresses)("the address %s has a page in the console", (_, address) => {
	const { pathname } = new URL(address, "https://app");
	const patterns = paths.filter((path) => !path.endsWith("*")).map(patternOf);
	expect(patterns.some((pattern) => pattern.test(pathname))).toBe(true);
});
