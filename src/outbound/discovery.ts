import * as oauth from "oauth4webapi";
import * as z from "zod";
import { quoted } from "../lib/text.ts";
import { sentence } from "./errors.ts";
import type { checkedRequests } from "./oauth.ts";

/** Why there is no discovery document of an issuer. The message is a sentence, without secrets. */
export class DiscoveryError extends Error {
	/** undefined: there was a response, but not with a document of this issuer. */
	readonly status: number | undefined;
	/** The issuer that the document names instead. */
	readonly named: string | undefined;

	constructor(message: string, { status, named }: { status?: number; named?: string } = {}) {
		super(message);
		this.status = status;
		this.named = named;
	}
}

/** The document of another issuer, in an error of the library. */
const Mismatch = z.object({ body: z.object({ issuer: z.string() }) });

/**
 * Fetches the discovery document of an issuer (OpenID Connect Discovery, section 4).
 * @throws DiscoveryError, and what `options` throws if there is no response
 */
export async function discover(
	issuer: string,
	options: ReturnType<typeof checkedRequests>,
): Promise<oauth.AuthorizationServer> {
	const url = new URL(issuer);
	const response = await oauth.discoveryRequest(url, options).catch((error: unknown) => {
		// The library sends no request without HTTPS.
		const isRefused = error instanceof oauth.OperationProcessingError;
		throw isRefused ? new DiscoveryError(sentence(error.message)) : error;
	});
	const { status } = response;
	if (status !== 200)
		throw new DiscoveryError(`The discovery of ${issuer} answered ${status}.`, { status });
	return oauth.processDiscoveryResponse(url, response).catch((error: unknown) => {
		const cause = error instanceof Error ? error.cause : undefined;
		const named = Mismatch.safeParse(cause).data?.body.issuer;
		throw named === undefined
			? new DiscoveryError(`The discovery of ${issuer} has no document that names an issuer.`)
			: new DiscoveryError(
					`The discovery of ${issuer} names the issuer ${quoted(named)} instead.`,
					{ named },
				);
	});
}
