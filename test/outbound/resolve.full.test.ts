import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { resolve } from "../../src/outbound/resolve.ts";

const missing = env.DOH_REAL ? "" : " (skipped: install unbound and dnsdist)";

test.skipIf(missing)(`the tests' resolver answers as a real one does${missing}`, async () => {
	const names = [
		...["right", "wrong", "several", "split", "quoted", "spaced", "part", "nodata", "missing"].map(
			(label) => `_tenantry-challenge.${label}.example.test`,
		),
		...["right", "public", "inside", "partly", "nobody", "x.servfail"].map(
			(label) => `${label}.example.test`,
		),
		...["www.alias.test", "more.alias.test", "nobody.alias.test"],
		...["example.test", "example.com"],
	];
	const types = ["A", "AAAA", "TXT"] as const;
	const questions = names.flatMap((name) => types.map((type) => ({ name, type })));
	const ask = (resolver: string) =>
		Promise.all(
			questions.map(async ({ name, type }) => {
				const result = await resolve({ ...env, DOH_URL: resolver }, name, type);
				const summary =
					"error" in result
						? result.error
						: result
								.map((record) => ("data" in record ? `${record.type} ${record.data}` : ""))
								.sort();
				return [name, type, summary];
			}),
		);
	expect(await ask(env.DOH_URL)).toEqual(await ask(env.DOH_REAL));
});
