import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { checkPublicHost } from "../../src/outbound/reach.ts";
import { withoutPatience } from "../support/time.ts";

const strict = { ...env, ALLOW_PRIVATE_DESTINATIONS: "false" };

const whyNot = async (at: Env, host: string) => (await checkPublicHost(at, host))?.error ?? null;

describe("an address", () => {
	test.each(["1.1.1.1", "2606:4700::1111", "[2606:4700::1111]", "::ffff:1.1.1.1"])(
		"%s is public",
		async (host) => {
			expect(await whyNot(strict, host)).toBeNull();
		},
	);

	test.each([
		"127.0.0.1",
		"127.1",
		"2130706433",
		"0x7f.0.0.1",
		"0177.0.0.1",
		"0.0.0.0",
		"10.0.0.5",
		"100.64.0.1",
		"169.254.169.254",
		"172.16.0.1",
		"192.168.1.1",
		"192.0.2.1",
		"198.18.0.1",
		"224.0.0.1",
		"255.255.255.255",
		"::",
		"::1",
		"[::1]",
		"::7f00:1",
		"fc00::1",
		"fe80::1%eth0",
		"fec0::1",
		"ff02::1",
		"::ffff:10.0.0.5",
		"[::ffff:a00:5]",
		"64:ff9b::10.0.0.5",
		"64:ff9b:1::1",
		"2002:a00:5::1",
		"2001:0:a00:5::1",
		"2001:db8::1",
	])("%s is private", async (host) => {
		expect(await whyNot(strict, host)).toBe(`${host} is a private address.`);
	});
});

test.each([
	"localhost",
	"LOCALHOST.",
	"db.localhost",
	"printer.local",
	"metadata.google.internal",
	"db",
	"",
])("%j is a name of a private network", async (host) => {
	expect(await whyNot(strict, host)).toBe(`${host} is a name of a private network.`);
});

test.each(["true", "1", "Yes", "on"])(
	"if private destinations are allowed (%s), nothing is rejected and nothing is resolved",
	async (ALLOW_PRIVATE_DESTINATIONS) => {
		const open = { ...env, ALLOW_PRIVATE_DESTINATIONS, DOH_URL: "none" };
		for (const host of ["127.0.0.1", "localhost", "example.com"])
			expect(await whyNot(open, host)).toBeNull();
	},
);

test.each(["", "perhaps"])("%j allows nothing", async (words) => {
	const odd = { ...env, ALLOW_PRIVATE_DESTINATIONS: words };
	expect(await whyNot(odd, "127.0.0.1")).not.toBeNull();
});

test("without a working resolver, every name is refused", async () => {
	const at = (DOH_URL: string) => whyNot({ ...strict, DOH_URL }, "public.example.test");
	expect(await withoutPatience(() => at(env.DOH_SILENT))).toBe(
		"The resolver did not answer within 3 seconds.",
	);
	expect(await at(env.DOH_NOBODY)).toMatch(/^The resolver /);
});

describe("a name", () => {
	test.each([
		["public.example.test", null],
		["Public.Example.Test.", null],
		["inside.example.test", "resolves to the private address 10.0.0.5."],
		["www.alias.test", "resolves to the private address 10.0.0.5."],
		["partly.example.test", "resolves to the private address ::ffff:a9fe:a9fe."],
	])("%s counts as where it leads", async (host, why) => {
		expect(await whyNot(strict, host)).toBe(why && `${host} ${why}`);
	});

	test.each(["nobody.example.test", "right.example.test"])(
		"%s, which has no address, is rejected",
		async (host) => {
			expect(await whyNot(strict, host)).toBe(`The name ${host} has no address.`);
		},
	);

	test("for which the resolver returns an error is refused", async () => {
		expect(await whyNot(strict, "x.servfail.example.test")).toBe(
			"The resolver answered SERVFAIL for x.servfail.example.test.",
		);
	});
});
