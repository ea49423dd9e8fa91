import { expect, test } from "vitest";
import { create } from "../../src/exports/batch_exports/shape.ts";
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
