import { expect, test } from "vitest";
import { isNewer, released, unannounced } from "../../scripts/release.ts";

test("a release must have a newer version", () => {
	expect(isNewer("0.2.0", "0.1.9")).toBe(true);
	expect(isNewer("1.0.0", "0.10.0")).toBe(true);
	for (const version of ["0.1.9", "0.1.8", "0.0.10", "0.2", "v0.2.0", "0.2.0-rc.1", ""])
		expect([version, isNewer(version, "0.1.9")]).toEqual([version, false]);
});

test("the changelog's unreleased entries are moved under the version, and there must be some", () => {
	const before =
		"# Changelog\n\n## Unreleased\n\n### Added\n\n- A.\n\n## 0.1.0 - 2026-01-01\n\n- B.\n";
	const after = released(before, "0.2.0", "2026-11-26") ?? "";
	expect(after).toBe(before.replace("## Unreleased\n", "## Unreleased\n\n## 0.2.0 - 2026-11-26\n"));
	expect(released(after, "0.3.0", "2026-11-27")).toBeUndefined();
	expect(released("# Changelog\n\n## Unreleased\n\n- A.\n", "0.2.0", "2026-11-26")).toContain(
		"## 0.2.0 - 2026-11-26\n\n- A.\n",
	);
});

test("a change that breaks clients needs a new version of the API", () => {
	const before = "version 2026-01-01\nGET /api/a getA 200 A\nA object\nA.id integer\n";
	const after = before.replace("A.id integer\n", "");
	expect(unannounced(before, after)).toEqual(["A.id was removed."]);
	expect(unannounced(before, after.replace("01-01", "02-01"))).toEqual([]);
});
