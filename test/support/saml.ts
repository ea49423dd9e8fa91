import { execFile } from "node:child_process";
import { constants, createHash, createSign } from "node:crypto";
import { mkdtempSync, readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { promisify } from "node:util";
import samlp, { type AuthnRequest, type Options, type User } from "samlp";
import { SignedXml } from "xml-crypto";
import { serve } from "./registry.ts";

const execute = promisify(execFile);

/** A key and its certificate, in PEM. */
export type Pair = { key: string; cert: string };

/** The algorithms of openssl for keys. */
const KEYS = { rsa: "rsa:2048", elliptic: "ec -pkeyopt ec_paramgen_curve:prime256v1" };

/**
 * Creates a key with a certificate that nobody else signed, as SAML providers have. Theirs are of
 * RSA.
 */
export async function newPair(kind: keyof typeof KEYS = "rsa"): Promise<Pair> {
	const cwd = mkdtempSync(`${tmpdir()}/tenantry-saml-`);
	const words = `req -x509 -newkey ${KEYS[kind]} -nodes -days 30 -subj /CN=provider -keyout key.pem -out cert.pem`;
	await execute("openssl", words.split(" "), { cwd });
	const read = (name: string) => readFileSync(`${cwd}/${name}`, "utf8");
	return { key: read("key.pem"), cert: read("cert.pem") };
}

/** Returns the response of samlp, which is XML. */
export const respond = (options: Options, user: User) =>
	new Promise<string>((resolve, reject) =>
		samlp.getSamlResponse(
			{ signatureAlgorithm: "rsa-sha256", digestAlgorithm: "sha256", ...options },
			user,
			(error, xml) => (error ? reject(error) : resolve(xml)),
		),
	);

/** Returns what samlp reads in the query of a request to its provider. */
export const readRequest = (url: URL) =>
	new Promise<AuthnRequest>((resolve, reject) =>
		samlp.parseRequest(
			{ method: "GET", query: Object.fromEntries(url.searchParams) },
			(error, data) => (error ? reject(error) : resolve(data ?? {})),
		),
	);

/** Returns the page that posts a response (saml-bindings 3.5). */
export const formOf = (action: string, xml: string, relayState: string | null) => `<!doctype html>
<form method="post" action="${action}">
<input type="hidden" name="SAMLResponse" value="${Buffer.from(xml).toString("base64")}">
${relayState === null ? "" : `<input type="hidden" name="RelayState" value="${relayState}">`}
<button>Continue</button>
</form>
<script>document.forms[0].submit()</script>`;

/** What `/sign` signs. */
export type Signing = {
	xml: string;
	/** The name of the pair that signs. */
	by: string;
	/** The local name of the element that is signed. */
	element: "Response" | "Assertion";
	/** As in XML; by default, with SHA-256. */
	signatureAlgorithm?: string;
	digestAlgorithm?: string;
};

const EXCLUSIVE = "http://www.w3.org/2001/10/xml-exc-c14n#";
const SHA256 = "http://www.w3.org/2001/04/xmlenc#sha256";
const RSA_SHA256 = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256";

const hashIn = (algorithm: string) => /sha\d+/.exec(algorithm)?.[0] ?? "";

/** Signs with any RSA algorithm and hash. */
export function signXml(
	{ xml, element, signatureAlgorithm = RSA_SHA256, digestAlgorithm = SHA256 }: Signing,
	privateKey: string,
) {
	const signed = new SignedXml({
		privateKey,
		signatureAlgorithm,
		canonicalizationAlgorithm: EXCLUSIVE,
	});
	const { RSA_PKCS1_PSS_PADDING, RSA_PKCS1_PADDING } = constants;
	const isPss = signatureAlgorithm.endsWith("MGF1");
	const padding = isPss
		? { padding: RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }
		: { padding: RSA_PKCS1_PADDING };
	signed.SignatureAlgorithms[signatureAlgorithm] = class {
		getAlgorithmName = () => signatureAlgorithm;
		getSignature = (text: string, key: string) =>
			createSign(hashIn(signatureAlgorithm))
				.update(text)
				.sign({ key, ...padding }, "base64");
	};
	signed.HashAlgorithms[digestAlgorithm] = class {
		getAlgorithmName = () => digestAlgorithm;
		getHash = (text: string) => createHash(hashIn(digestAlgorithm)).update(text).digest("base64");
	};
	const xpath = `//*[local-name(.)='${element}']`;
	signed.addReference({
		xpath,
		digestAlgorithm,
		transforms: ["http://www.w3.org/2000/09/xmldsig#enveloped-signature", EXCLUSIVE],
	});
	const reference = `${xpath}/*[local-name(.)='Issuer']`;
	signed.computeSignature(xml, { location: { reference, action: "after" } });
	return signed.getSignedXml();
}

async function jsonOf(request: IncomingMessage) {
	let text = "";
	for await (const chunk of request) text += chunk;
	return JSON.parse(text);
}

/**
 * A SAML provider.
 * - `GET /certificate/<name>` responds with that of a pair. That of `elliptic` isn't of RSA.
 * - `GET /sso/<who>` is the URL that sign-ins start with. `who` is in Base64URL the JSON of samlp's
 *   options, with the name of the pair in `by`, and of the user.
 * - `POST /sign` signs XML.
 */
export async function samlProviders() {
	const pairs = new Map<string, Promise<Pair>>();
	const pairOf = (name: string) => {
		const pair = pairs.get(name) ?? newPair(name === "elliptic" ? name : "rsa");
		pairs.set(name, pair);
		return pair;
	};
	type Who = { options: Partial<Options>; by: string; user: User };
	const responseOf = async ({ options, by, user }: Who, more: Partial<Options> = {}) =>
		respond({ issuer: "https://provider.test", ...(await pairOf(by)), ...more, ...options }, user);

	async function answer(request: IncomingMessage, response: ServerResponse) {
		const url = new URL(request.url ?? "", "http://provider");
		const [, kind, name = ""] = url.pathname.split("/");
		switch (kind) {
			case "certificate":
				return response.end((await pairOf(name)).cert);
			case "sign": {
				const signing = (await jsonOf(request)) as Signing;
				return response.end(signXml(signing, (await pairOf(signing.by)).key));
			}
			default: {
				const { id = "", issuer = "", assertionConsumerServiceURL = "" } = await readRequest(url);
				const xml = await responseOf(JSON.parse(Buffer.from(name, "base64url").toString()), {
					audience: issuer,
					recipient: assertionConsumerServiceURL,
					destination: assertionConsumerServiceURL,
					inResponseTo: id,
				});
				const relayState = url.searchParams.get("RelayState");
				response.setHeader("content-type", "text/html");
				return response.end(formOf(assertionConsumerServiceURL, xml, relayState));
			}
		}
	}
	const url = await serve((request, response) => {
		answer(request, response).catch((error: unknown) => {
			response.statusCode = 500;
			response.end(String(error));
		});
	});
	return { SAML_PROVIDER_URL: url };
}
