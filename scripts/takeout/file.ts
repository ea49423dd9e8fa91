/** The file of an organization: a SQLite database with its tables, secrets and a manifest. */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import * as z from "zod";
import { messageOf } from "../../build/run.ts";
import { TakeoutError } from "./database.ts";

export const PRODUCT = "tenantry";

/** Raised when files change so that older versions of the command can't read them. */
export const FORMAT = 1;

export const Manifest = z.object({
	product: z.string(),
	format: z.int(),
	/** The last migration of the database that it was exported from. */
	schema: z.string(),
	organization: z.object({ id: z.guid(), name: z.string() }),
	exported_at: z.string(),
	/** The number of rows of each table, and the SHA-256 of their sorted JSON. */
	tables: z.record(
		z.string(),
		z.object({ columns: z.array(z.string()), rows: z.int(), digest: z.string() }),
	),
	/** The thumbprint of the key that secrets are encrypted for; null if they were left out. */
	sealed_to: z.string().nullable(),
	secrets: z.object({ rows: z.int(), digest: z.string() }),
	/** What the file doesn't have, and why. */
	left_out: z.array(z.object({ table: z.string(), rows: z.int(), because: z.string() })),
});

export type Manifest = z.infer<typeof Manifest>;

const quote = (name: string) => `"${name.replaceAll('"', '""')}"`;

/** Opens a new file. What is deleted or replaced in it leaves no trace. */
export function create(path: string) {
	const file = new DatabaseSync(path);
	file.exec("pragma journal_mode = off; pragma synchronous = off; pragma secure_delete = on");
	return file;
}

/** Creates a table in a file. */
export function createTable(file: DatabaseSync, name: string, columns: string[]) {
	file.exec(`create table ${quote(name)} (${columns.map(quote).join(", ")})`);
}

/** Returns a function that adds rows, each a JSON list of values, to a table. */
export function writer(file: DatabaseSync, name: string, columns: string[]) {
	const values = columns.map((_, i) => `value ->> ${i}`).join(", ");
	const insert = file.prepare(
		`insert into ${quote(name)} select ${values} from json_each(?) order by key`,
	);
	return (rows: string[]) => insert.run(`[${rows.join(",")}]`);
}

/** Returns the rows of a table, each as a JSON list of values. */
export function* readRows(file: DatabaseSync, name: string, columns: string[], order = "rowid") {
	const select = file.prepare(
		`select json_array(${columns.map(quote).join(", ")}) as row from ${quote(name)} order by ${order}`,
	);
	for (const { row } of select.iterate()) yield String(row);
}

/** Returns the number of rows of a table, and the digest of their sorted JSON. */
export function digestOf(file: DatabaseSync, name: string, columns: string[]) {
	const hash = createHash("sha256");
	let rows = 0;
	for (const row of readRows(file, name, columns, "1")) {
		hash.update(row).update("\n");
		rows += 1;
	}
	return { rows, digest: hash.digest("hex") };
}

export const SECRET_COLUMNS = ["table", "row", "field", "column", "jwe"];

export const digestOfText = (text: string) => createHash("sha256").update(text).digest("hex");

/** Adds the manifest. Returns its digest. */
export function writeManifest(file: DatabaseSync, manifest: Manifest) {
	const text = JSON.stringify(manifest);
	createTable(file, "manifest", ["manifest", "digest"]);
	file.prepare("insert into manifest values (?, ?)").run(text, digestOfText(text));
	return digestOfText(text);
}

/**
 * Opens a file and checks that it is whole.
 * @throws TakeoutError if it isn't a file of this product and format, or is damaged
 */
export function openFile(path: string) {
	if (!existsSync(path)) throw new TakeoutError(`There is no file ${path}.`);
	const file = new DatabaseSync(path, { readOnly: true });
	try {
		return { file, ...readManifest(file, path) };
	} catch (error) {
		file.close();
		if (error instanceof TakeoutError) throw error;
		throw new TakeoutError(`${path} is damaged: ${messageOf(error)}`);
	}
}

function readManifest(file: DatabaseSync, path: string) {
	const notOurs = new TakeoutError(
		`${path} is not a file of npm run admin -- organization export.`,
	);
	const names = file
		.prepare("select name from sqlite_schema")
		.all()
		.map(({ name }) => name);
	if (!names.includes("manifest")) throw notOurs;
	const stored = file.prepare("select * from manifest").get();
	const text = String(stored?.manifest);
	if (digestOfText(text) !== stored?.digest)
		throw new TakeoutError(`${path} is damaged: its manifest has another digest.`);
	const { product, format } = z
		.looseObject({ product: z.string(), format: z.int() })
		.parse(JSON.parse(text));
	if (product !== PRODUCT) throw new TakeoutError(`${path} is a file of ${product}.`);
	if (format > FORMAT)
		throw new TakeoutError(
			`${path} has the format ${format}. This version reads at most ${FORMAT}.`,
		);
	const manifest = Manifest.parse(JSON.parse(text));
	for (const [name, { columns, rows, digest }] of Object.entries(manifest.tables)) {
		const found = digestOf(file, name, columns);
		if (found.rows !== rows || found.digest !== digest)
			throw new TakeoutError(`${path} is damaged: the rows of ${name} have another digest.`);
	}
	const secrets = digestOf(file, "secrets", SECRET_COLUMNS);
	if (secrets.digest !== manifest.secrets.digest)
		throw new TakeoutError(`${path} is damaged: its secrets have another digest.`);
	return { manifest, digest: digestOfText(text) };
}
