/** The parts of samlp that the provider of the tests and of `npm run provider` uses. */
declare module "samlp" {
	import type { IncomingMessage } from "node:http";

	type User = {
		id: string;
		emails: { value: string }[];
		displayName: string;
		name: { givenName: string; familyName: string };
	};

	type Options = {
		issuer: string;
		key: string;
		cert: string;
		audience?: string;
		recipient?: string;
		destination?: string;
		inResponseTo?: string;
		nameIdentifierFormat?: string;
		authnContextClassRef?: string;
		lifetimeInSeconds?: number;
		signatureAlgorithm?: string;
		digestAlgorithm?: string;
		signResponse?: boolean;
		signAssertion?: boolean;
		encryptionPublicKey?: string;
		encryptionCert?: string;
		samlStatusCode?: string;
	};

	type AuthnRequest = {
		id?: string;
		issuer?: string;
		destination?: string;
		assertionConsumerServiceURL?: string;
	};

	const samlp: {
		getSamlResponse(
			options: Options,
			user: User,
			callback: (error: Error | null, xml: string) => void,
		): void;
		parseRequest(
			request: Pick<IncomingMessage, "method"> & { query: Record<string, string> },
			callback: (error: Error | null, data?: AuthnRequest) => void,
		): void;
	};
	export default samlp;
	export type { AuthnRequest, Options, User };
}
