import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, inject, test } from "vitest";
import { pythonWith, SCIM_TESTER } from "../support/python.ts";
import { newOrganization } from "./support/browser.ts";

const python = await pythonWith(SCIM_TESTER).catch(() => null);

const missing = python ? "" : " (skipped: scim2-tester can't be installed)";

/** An organization with a verified domain. */
async function verifiedDomain() {
	const home = await newOrganization();
	const domain = `${crypto.randomUUID()}.example.com`;
	const { id, verification_challenge } = await home.client.domains.create(home.at, { domain });
	const record = `${inject("console").resolver}_tenantry-challenge.${domain}`;
	await fetch(record, { method: "PUT", body: verification_challenge });
	await home.client.domains.verify({ ...home.at, id });
	return { ...home, domain, domain_id: id, on: { ...home.at, domain: id } };
}

test.skipIf(!python)(`the endpoint passes every check of scim2-tester${missing}`, async () => {
	const { client, domain, domain_id, on } = await verifiedDomain();
	const { value } = await client.scimTokens.create(on);
	const base = `${inject("console").url}/scim/v2/${domain_id}`;
	const { stdout } = await promisify(execFile)(python ?? "", [
		`${import.meta.dirname}/../support/scim.py`,
		base,
		value ?? "",
		domain,
	]);
	const results = stdout.trim().split("\n");
	expect(results.length).toBeGreaterThan(60);
	// A search of users and groups at once, which RFC 7644 leaves to the server.
	const isOptional = (line: string) => line.startsWith("SKIPPED: search_with_attributes");
	const others = results.filter((line) => !isOptional(line));
	expect(others.filter((line) => !line.startsWith("SUCCESS"))).toEqual([]);
});
