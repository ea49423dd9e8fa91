/** The database of a deployment, through the operator's entrypoint. */
import * as z from "zod";
import type { Operate } from "../operator.ts";

export type Statement = { sql: string; values?: (string | number | null)[] };

const Rows = z.array(z.array(z.record(z.string(), z.unknown())));
const Texts = z.array(z.string());

/** Something that the operator has to correct. */
export class TakeoutError extends Error {}

async function results(operate: Operate, command: string, options: object) {
	const outcome = await operate(command, options);
	if ("error" in outcome) throw new TakeoutError(outcome.error);
	return outcome.result.results;
}

export class Database {
	readonly #operate: Operate;

	constructor(operate: Operate) {
		this.#operate = operate;
	}

	/** Runs statements in one transaction. Returns the rows of each. */
	batch = async (...statements: Statement[]) =>
		Rows.parse(await results(this.#operate, "database batch", { statements }));

	/** Returns the rows of a statement. */
	rows = async (sql: string, ...values: (string | number | null)[]) =>
		(await this.batch({ sql, values }))[0] ?? [];

	/** Returns a number that a statement selects as `n`. */
	count = async (sql: string, ...values: (string | number | null)[]) =>
		Number((await this.rows(sql, ...values))[0]?.n ?? 0);

	/** Encrypts stored secrets, or plain texts if they have no place, with a public key. */
	openSecrets = async (jwk: unknown, secrets: { place?: Place | undefined; sealed: string }[]) =>
		Texts.parse(await results(this.#operate, "secrets open", { jwk, secrets }));

	/** Encrypts secrets for this deployment. */
	sealSecrets = async (secrets: { place: Place; secret: string }[]) =>
		Texts.parse(await results(this.#operate, "secrets seal", { secrets }));
}

/** Where a secret is stored (src/keys/secrets.ts). */
export type Place = { table: string; row: string; field: string };
