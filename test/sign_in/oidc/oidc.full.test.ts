import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { atLiar, begin, browser, withProvider } from "./browser.ts";
import { MISLEADING, saying, UNVERIFIABLE } from "./lies.ts";

test.each(MISLEADING)("no sign-in starts if the discovery has the %s %j", async (name, value) => {
	const home = await withProvider(`${env.LIAR_URL}/${saying({ discovery: { [name]: value } })}`);
	const { hash } = await begin(home, browser());
	expect(hash).toMatch(/^#problem=(provider_unavailable|invalid_response)$/);
});

test.each(UNVERIFIABLE)("nobody signs in through a provider with %s", async (_, said) => {
	const { answer, claims } = await atLiar(saying(said));
	expect(await answer({ claims })).toEqual({ problem: "invalid_response" });
});

test("a provider whose list of ways to authenticate isn't one gets the usual way", async () => {
	const discovery = { token_endpoint_auth_methods_supported: 5 };
	const { answer, claims } = await atLiar(saying({ discovery }));
	expect(await answer({ claims })).toEqual({ token: expect.stringMatching(/^[\w-]{43}$/) });
});
