import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { MisconfiguredError } from "../../src/outbound/errors.ts";
import { checkPublicHost } from "../../src/outbound/reach.ts";
import { resolve } from "../../src/outbound/resolve.ts";
import { assertReachable } from "../../src/outbound/send.ts";

const label = "x".repeat(63);
/** 253 characters. */
const longest = [label, label, label, "x".repeat(57), "test"].join(".").slice(1);

/** No server listens here, so a query would fail. */
const ask = (name: string) => resolve({ ...env, DOH_URL: env.DOH_NOBODY }, name, "A");

describe("an invalid DNS name is rejected without a query", () => {
	test.each([
		[`x${label}.test`, "has a label of more than 63 characters"],
		[`${"é".repeat(32)}.test`, "has a label of more than 63 characters"],
		[`x.${longest}`, "has more than 253 characters"],
		["a..test", "has an empty label"],
		[".test", "has an empty label"],
	])("%s", async (name, why) => {
		const error = `The name ${name} ${why}.`;
		expect(await ask(name)).toEqual({ error, retryable: false });
		const strict = {
			...env,
			ALLOW_PRIVATE_DESTINATIONS: "false",
			DOH_URL: env.DOH_NOBODY,
		};
		expect(await checkPublicHost(strict, name)).toEqual({ error, retryable: false });
		await expect(assertReachable(strict, name)).rejects.toThrow(MisconfiguredError);
	});
});

test.each([`${label}.test`, longest, `${longest}.`, "a.test."])("%s is resolved", async (name) => {
	expect(await ask(name)).toMatchObject({ retryable: true });
});

test("an error of the resolver is retryable", async () => {
	const strict = {
		...env,
		ALLOW_PRIVATE_DESTINATIONS: "false",
		DOH_URL: env.DOH_NOBODY,
	};
	const failed = assertReachable(strict, "public.example.test");
	await expect(failed).rejects.toThrow(/^The resolver /);
	await expect(failed).rejects.not.toThrow(MisconfiguredError);
});
