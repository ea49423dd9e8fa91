import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import type { App } from "../env.ts";
import { countRequest } from "../http/rate_limit.ts";
import { router } from "../http/router.ts";
import { addressOf } from "../keys/addresses.ts";
import { networkOf } from "../keys/ranges.ts";
import { ownPages } from "../outbound/console.ts";
import { register } from "./apps/self_registered.ts";
import { authorizeDevice, exchangeDeviceCode } from "./device/device.ts";
import { exchange } from "./exchange/code.ts";
import { refresh } from "./exchange/refresh.ts";
import { introspect, revoke } from "./inspect.ts";
import { asOauthErrors, OauthError } from "./protocol/errors.ts";
import { type Form, readForm } from "./protocol/form.ts";
import { DEVICE_GRANT, TOKEN_EXCHANGE } from "./protocol/tokens.ts";

const GRANT_TYPES = new Map<string, (c: Context<App>, form: Form) => Promise<object>>([
	["authorization_code", exchange],
	["refresh_token", refresh],
	[DEVICE_GRANT, exchangeDeviceCode],
	// Loaded only here, with the library that verifies tokens of others.
	[
		TOKEN_EXCHANGE,
		async (c: Context<App>, form: Form) =>
			(await import("./issuers/token_exchange.ts")).exchange(c, form),
	],
]);

/** So that guessing costs little: codes and tokens are looked for in D1. */
const limited = createMiddleware<App>(async (c, next) => {
	const tooMany = await countRequest(c, `apps from ${networkOf(addressOf(c) ?? "unknown")}`);
	if (tooMany) throw tooMany;
	await next();
});

/** The endpoints that apps call (docs/oauth.md). */
export default router()
	// A page of the console, so that the person can sign in first.
	.get("/authorize", (c) => c.redirect(ownPages.oauth + new URL(c.req.url).search, 303))
	.use("*", asOauthErrors, limited)
	.post("/device_authorization", async (c) => c.json(await authorizeDevice(c, await readForm(c))))
	.post("/register", async (c) => c.json(await register(c), 201))
	.post("/token", async (c) => {
		const form = await readForm(c);
		const grant = GRANT_TYPES.get(form.required("grant_type"));
		if (!grant) throw new OauthError("unsupported_grant_type", "This grant type isn't supported.");
		return c.json(await grant(c, form));
	})
	.post("/revoke", async (c) => {
		await revoke(c, await readForm(c));
		return c.body(null, 200);
	})
	.post("/introspect", async (c) => c.json(await introspect(c, await readForm(c))));
