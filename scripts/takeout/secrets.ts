/** The secrets in the rows of a file, which only a table of encrypted ones may have. */
import type { DatabaseSync } from "node:sqlite";
import { compactDecrypt, importJWK } from "jose";
import { newSecret } from "../../src/activity/webhooks/secret.ts";
import { type Database, type Place, TakeoutError } from "./database.ts";

/** What a row has instead of a secret. */
const MARK = "(sealed)";

type Column = {
	table: string;
	column: string;
	/** SQL for the row in the secret's place. */
	row: string;
	/** The field in its place. For JSON, the prefix of the names of its settings. */
	field?: string;
	/** The path of the settings in the column's JSON. */
	json?: "$" | "$.config";
	/** What it becomes without the secret, as SQL; by default null. */
	otherwise?: string;
	/** Returns what it becomes without the secret, if it must have one. */
	fresh?: () => string;
	/** It is a digest, which isn't encrypted. */
	isDigest?: true;
};

/** Where rows have secrets, in the form of `place` in src/keys/secrets.ts. */
const COLUMNS: Column[] = [
	{ table: "domains", column: "oidc_client_secret", row: "t.id" },
	{ table: "webhooks", column: "secret", row: "t.id", fresh: newSecret },
	{ table: "webhooks", column: "previous_secret", row: "t.id", field: "secret" },
	{ table: "webhooks", column: "routing_key", row: "t.id" },
	{
		table: "plugins",
		column: "private_token",
		row: "json_array((select uuid from organizations), t.url)",
	},
	{
		table: "batch_exports",
		column: "destination",
		row: "t.uuid",
		field: "destination.",
		json: "$.config",
	},
	{
		table: "audit_streams",
		column: "destination",
		row: "t.id",
		field: "destination.",
		json: "$.config",
	},
	{ table: "plugin_configs", column: "config", row: "t.uuid", field: "config.", json: "$" },
	// Nobody has a value with this digest.
	{
		table: "personal_api_keys",
		column: "hash",
		row: "t.id",
		otherwise: "'moved:' || id",
		isDigest: true,
	},
	{
		table: "scim_tokens",
		column: "hash",
		row: "t.id",
		otherwise: "'moved:' || id",
		isDigest: true,
	},
	{
		table: "invites",
		column: "token_hash",
		row: "t.id",
		otherwise: "'moved:' || id",
		isDigest: true,
	},
];

/** What can't work without its secrets is switched off. `column` is NULL or has lost a setting. */
const OFF: Record<string, string> = {
	webhooks: "enabled = 0, disabled_reason = 'It was moved without its secret, and has a new one.'",
	batch_exports:
		"paused = 1, pause_note = 'It was moved without its secrets. Set them, then resume it.'",
	audit_streams: "enabled = 0, next_attempt_at = null",
	plugin_configs: "enabled = 0",
};

/** The form of `seal` in src/keys/secrets.ts. */
const SEALED = "sealed:%:%:%";

type Found = { rowid: number; row: string; key: string | null; sealed: string };

/** Returns the values of a column that are like a pattern. */
function find(file: DatabaseSync, { table, column, row, json }: Column, pattern: string) {
	const select = json
		? `select t.rowid as rowid, ${row} as row, s.key as key, s.value as value from "${table}" as t, json_each(t."${column}", '${json}') as s`
		: `select t.rowid as rowid, ${row} as row, null as key, t."${column}" as value from "${table}" as t`;
	const found = file.prepare(`select * from (${select}) where value like ?`).all(pattern);
	return found.map(
		(each): Found => ({
			rowid: Number(each.rowid),
			row: String(each.row),
			key: each.key === null ? null : String(each.key),
			sealed: String(each.value),
		}),
	);
}

/** Replaces a secret of a row. */
function replace(
	file: DatabaseSync,
	{ table, column, json, otherwise = "null" }: Column,
	{ rowid, key }: Pick<Found, "rowid" | "key">,
	value: string | null,
) {
	const path = `${json}.${JSON.stringify(key)}`;
	const [changed, values] = json
		? value === null
			? [`json_remove("${column}", ?)`, [path]]
			: [`json_set("${column}", ?, ?)`, [path, value]]
		: value === null
			? [otherwise, []]
			: ["?", [value]];
	file
		.prepare(`update "${table}" set "${column}" = ${changed} where rowid = ?`)
		.run(...values, rowid);
}

const placeOf = (
	{ table, column, field = column, isDigest }: Column,
	{ row, key }: Pick<Found, "row" | "key">,
): Place | undefined =>
	isDigest ? undefined : { table, row, field: key === null ? field : field + key };

/** How many secrets a call of the service encrypts. */
const BATCH_SIZE = 200;

/**
 * Moves all secrets out of the rows.
 * @param jwk the public key to encrypt them for; undefined: they are left out
 * @returns how many each column had
 */
export async function takeOut(database: Database, file: DatabaseSync, jwk: unknown) {
	const insert = file.prepare("insert into secrets values (?, ?, ?, ?, ?)");
	const counts: { table: string; rows: number; column: string }[] = [];
	for (const column of COLUMNS) {
		const found = find(file, column, column.isDigest ? "%" : SEALED);
		for (let i = 0; i < found.length; i += BATCH_SIZE) {
			const part = found.slice(i, i + BATCH_SIZE);
			const texts = jwk
				? await database.openSecrets(
						jwk,
						part.map((each) => ({ place: placeOf(column, each), sealed: each.sealed })),
					)
				: [];
			for (const [at, each] of part.entries()) {
				replace(file, column, each, MARK);
				const jwe = texts[at];
				if (jwe) insert.run(column.table, each.row, each.key, column.column, jwe);
			}
		}
		if (found.length > 0)
			counts.push({ table: column.table, column: column.column, rows: found.length });
	}
	return counts;
}

/** Returns a function that decrypts the secrets of a file. */
async function decrypter(jwk: Record<string, unknown>) {
	const key = await importJWK(jwk, "ECDH-ES");
	return async (jwe: string) => {
		const { plaintext } = await compactDecrypt(jwe, key).catch(() => {
			throw new TakeoutError("The secrets of the file were encrypted for another key.");
		});
		return new TextDecoder().decode(plaintext);
	};
}

/**
 * Puts the secrets into the rows of a copy of the file, encrypted for this deployment.
 * @param jwk the private key; undefined: what needs them is switched off
 * @returns how many each column lost
 */
export async function putBack(
	database: Database,
	file: DatabaseSync,
	jwk: Record<string, unknown> | undefined,
) {
	const decrypt = jwk && (await decrypter(jwk));
	const select = file.prepare(
		'select jwe from secrets where "table" = ? and "row" = ? and "field" is ? and "column" = ?',
	);
	const lost: { table: string; column: string; rows: number }[] = [];
	for (const column of COLUMNS) {
		const found = find(file, column, MARK);
		let count = 0;
		for (const each of found) {
			const stored = decrypt && select.get(column.table, each.row, each.key, column.column);
			const kept = stored && decrypt && (await decrypt(String(stored.jwe)));
			const secret = kept ?? column.fresh?.();
			const place = placeOf(column, each);
			const [sealed] = secret && place ? await database.sealSecrets([{ place, secret }]) : [secret];
			replace(file, column, each, sealed ?? null);
			if (kept !== undefined) continue;
			count += 1;
			const off = OFF[column.table];
			if (off) file.prepare(`update "${column.table}" set ${off} where rowid = ?`).run(each.rowid);
		}
		if (count > 0) lost.push({ table: column.table, column: column.column, rows: count });
	}
	return lost;
}
