import { WorkerEntrypoint } from "cloudflare:workers";
import { SAML } from "@node-saml/node-saml";
import type { Parties } from "./assertion.ts";
import { readProvider } from "./provider.ts";
import { verify } from "./verify.ts";
import { ResponseError } from "./xml.ts";

export type { Parties };

type Rejected = { rejected: Pick<ResponseError, "code" | "message"> };

/** The content of a verified response, or why it is rejected. */
export type Verdict = ({ rejected: null } & Awaited<ReturnType<typeof verify>>) | Rejected;

/** The content of a provider's metadata, or why it is rejected. */
export type Provider = ({ rejected: null } & Awaited<ReturnType<typeof readProvider>>) | Rejected;

async function orRejected<T>(read: () => Promise<T>): Promise<T | Rejected> {
	try {
		return await read();
	} catch (error) {
		if (!(error instanceof ResponseError)) throw error;
		const { code, message } = error;
		return { rejected: { code, message } };
	}
}

const saml = (parties: Parties, id: string) =>
	new SAML({
		issuer: parties.entity_id,
		callbackUrl: parties.acs_url,
		entryPoint: parties.saml_acs_url,
		// Only `verify` uses certificates.
		idpCert: "none",
		// The domain's provider decides how people sign in and what it calls them.
		disableRequestedAuthnContext: true,
		identifierFormat: null,
		wantAssertionsSigned: true,
		generateUniqueId: () => id,
	});

/** Speaks SAML for all domains, so it must not store anything from a call. */
export default class Saml extends WorkerEntrypoint {
	/** Returns the metadata of the service for a domain's provider (saml-metadata 2.4.4). */
	metadata(parties: Parties, id: string) {
		return saml(parties, id).generateServiceProviderMetadata(null);
	}

	/**
	 * Returns the URL at the provider that a sign-in starts with (saml-bindings 3.4).
	 * @param relayState what the provider sends back with its response
	 */
	request(parties: Parties, id: string, relayState: string) {
		return saml(parties, id).getAuthorizeUrlAsync(relayState, undefined, {});
	}

	/** @param response the form field `SAMLResponse` */
	verify(parties: Parties, response: string): Promise<Verdict> {
		return orRejected(async () => ({ rejected: null, ...(await verify(parties, response)) }));
	}

	/** Returns the fields of a domain that the metadata of its provider has. */
	provider(metadata: string): Promise<Provider> {
		return orRejected(async () => ({ rejected: null, ...(await readProvider(metadata)) }));
	}
}
