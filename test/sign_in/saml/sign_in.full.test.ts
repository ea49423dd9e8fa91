import { expect, test } from "vitest";
import { HUGE, WRAPPED } from "../../isolates/saml/attacks.ts";
import { ALGORITHMS, base64Of, type Changes } from "../../isolates/saml/responses.ts";
import {
	certificateOf,
	connected,
	expectRejected,
	signIn,
	succeeds,
	throughSamlp,
} from "./support.ts";

test.each(ALGORITHMS)("a signature with $signatureAlgorithm is verified", async (signing) => {
	expect(await signIn(await connected(), { signing })).toMatch(succeeds);
});

test.each<[string, (one: string, two: string) => string]>([
	["two, while they change", (one, two) => `${two}\n${one}`],
	["Base64", base64Of],
	["two in Base64", (one, two) => `${base64Of(two)}\n\n${base64Of(one)}`],
])("the certificates of a domain can be %s", async (_, form) => {
	const saml_x509_cert = form(await certificateOf("one"), await certificateOf("two"));
	expect(await signIn(await connected({ saml_x509_cert }))).toMatch(succeeds);
});

test.each([
	["the response is signed", { signResponse: true, signAssertion: false }],
	["both the response and the assertion are signed", { signResponse: true }],
])("a person signs in if %s", async (_, options) => {
	expect(await throughSamlp(await connected(), options)).toMatch(succeeds);
});

test.each<[string, Changes, string]>([
	...WRAPPED.map(([name, changes]): [string, Changes, string] => [name, changes, "assertion"]),
	...HUGE,
])("a response with %s is rejected", async (_, changes, why) => {
	await expectRejected(changes, why);
});
