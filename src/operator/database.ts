/** What `npm run admin` needs to move data out of and into the database (docs/operating/README.md#moving-an-organization). */
import { CompactEncrypt, importJWK } from "jose";
import type * as z from "zod";
import { seal, unseal } from "../keys/secrets.ts";
import { type databaseBatch, OperatorError, type secretsOpen, type secretsSeal } from "./shape.ts";

/**
 * Runs statements in one transaction. Whoever can call the entrypoint can also use
 * `wrangler d1 execute`.
 * @returns the rows of each statement
 */
export async function batch({ DB }: Env, { statements }: z.infer<typeof databaseBatch>) {
	const prepared = statements.map(({ sql, values }) => DB.prepare(sql).bind(...values));
	const results = await DB.batch(prepared);
	return { results: results.map(({ results }) => results) };
}

/**
 * Encrypts stored secrets for whoever has the private key (JWE, RFC 7516). They never leave the
 * worker in plain text.
 */
export async function open(env: Env, { jwk, secrets }: z.infer<typeof secretsOpen>) {
	const key = await importJWK(jwk, "ECDH-ES").catch((error: unknown) => {
		throw new OperatorError(
			`The key can't be used: ${error instanceof Error ? error.message : error}`,
		);
	});
	const encrypt = (text: string) =>
		new CompactEncrypt(new TextEncoder().encode(text))
			.setProtectedHeader({ alg: "ECDH-ES", enc: "A256GCM" })
			.encrypt(key);
	return {
		results: await Promise.all(
			secrets.map(async ({ place, sealed }) =>
				encrypt(place ? await unseal(env, sealed, place) : sealed),
			),
		),
	};
}

/** Encrypts secrets for the database. */
export const sealEach = async (env: Env, { secrets }: z.infer<typeof secretsSeal>) => ({
	results: await Promise.all(secrets.map(({ place, secret }) => seal(env, secret, place))),
});
