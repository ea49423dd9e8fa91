import { expect, test } from "vitest";
import { allowedHosts } from "../../../src/plugins/jobs/sandbox.ts";

test("allowed hosts are a list of names, or a text with commas; everything else is ignored", () => {
	expect(allowedHosts({})).toEqual([]);
	const names = ["api.example.com", "example.org"];
	for (const allowed_hosts of ["api.example.com, Example.ORG", ["API.example.com ", "example.org"]])
		expect(allowedHosts({ allowed_hosts })).toEqual(names);
	const ignored = ["localhost", "127.0.0.1", "[::1]", "0x7f.1", "2130706433", "a b", 7];
	expect(allowedHosts({ allowed_hosts: ignored })).toEqual([]);
});
