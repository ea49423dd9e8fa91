import { generateKeyPairSync } from "node:crypto";
import { jwtVerify } from "jose";
import { expect, test } from "vitest";
import { create } from "../../src/exports/batch_exports/shape.ts";
import { signJwt } from "../../src/keys/private_key.ts";
import { read } from "../http/echo.ts";
import { wrong } from "../support/errors.ts";

const BEGIN = "-----BEGIN PRIVATE KEY-----";
const END = "-----END PRIVATE KEY-----";

// A pattern with three repetitions of white space took 22 s for 2,500 line breaks, and minutes for
// 8,000.
test.each([
	["2,500 line breaks", "\n".repeat(2_500)],
	["8,000 line breaks", "\n".repeat(8_000)],
	["8,000 line breaks in another key", `\n${"A".repeat(50)}${"\n".repeat(8_000)}A`],
	["the end many times", `\n${`${END}\n`.repeat(300)}`],
])("a private key of %s is rejected like any other that can't be read", async (_, content) => {
	const config = { project_id: "p", dataset_id: "d", client_email: "a@example.com" };
	for (const private_key of [`${BEGIN}${content}x`, `${BEGIN}${content}${END}`]) {
		const destination = { type: "BigQuery", config: { ...config, private_key } };
		expect(await read(create, { name: "x", interval: "hour", destination })).toMatchObject(
			wrong(
				"invalid_input",
				"Enter an RSA private key in PEM (PKCS#8), as in the field private_key of a service account's JSON key.",
				"destination__config__private_key",
			),
		);
	}
});

test.each(["key-1", undefined])(
	"a token is signed with RS256 and names the key %s",
	async (kid) => {
		const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
		const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
		const claims = { iss: "exporter@example.com", iat: 1_800_000_000 };
		const { payload, protectedHeader } = await jwtVerify(
			await signJwt(pem, kid, claims),
			publicKey,
		);
		expect(payload).toEqual(claims);
		expect(protectedHeader).toEqual({ alg: "RS256", typ: "JWT", ...(kid && { kid }) });
	},
);
