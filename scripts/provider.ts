/** `npm run provider`: runs a provider to try single sign-on with, on the port PROVIDER_PORT. */

import { fail } from "../build/run.ts";
import { CLIENT, oidcProvider } from "./provider/oidc.ts";
import { expectNoArguments, WRONG_USAGE } from "./usage.ts";

const port = Number(process.env.PROVIDER_PORT || 8790);

expectNoArguments(`Usage: npm run provider

Runs a provider to try single sign-on with, which believes who you say you are. Environment
variables:
  PROVIDER_PORT  the port; 8790 by default`);
if (!Number.isInteger(port) || port < 1 || port > 65535)
	fail(
		`PROVIDER_PORT must be a number from 1 to 65535, not ${process.env.PROVIDER_PORT}.`,
		WRONG_USAGE,
	);

const issuer = `http://localhost:${port}`;
oidcProvider(issuer)
	.once("error", () =>
		fail(
			`Port ${port} is not available. Use another port: PROVIDER_PORT=${port + 1} npm run provider`,
		),
	)
	.listen(port, "127.0.0.1", () =>
		console.log(`A provider to try single sign-on with is running. Enter this in the settings of a domain:

  OpenID Connect
    Issuer         ${issuer}
    Client ID      ${CLIENT.client_id}
    Client secret  ${CLIENT.client_secret}

Press Ctrl-C to stop it.`),
	);
