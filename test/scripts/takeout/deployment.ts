import { readdirSync, readFileSync } from "node:fs";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { is } from "drizzle-orm";
import { getTableConfig, SQLiteTable } from "drizzle-orm/sqlite-core";
import { addBase64 } from "../../../scripts/base64.ts";
import { Database } from "../../../scripts/takeout/database.ts";
import { run } from "../../../src/operator/run.ts";

addBase64();

const root = `${import.meta.dirname}/../../..`;

/** A database of SQLite with all migrations, behind the operator's commands. */
export class Deployment {
	readonly sqlite = new DatabaseSync(":memory:");
	readonly env: Env;
	/** After how many more batches it can't be reached. */
	batches = Number.POSITIVE_INFINITY;

	constructor(secret = 1) {
		const names = readdirSync(`${root}/migrations`)
			.filter((name) => name.endsWith(".sql"))
			.sort();
		this.sqlite.exec("create table d1_migrations (name text)");
		for (const name of names) {
			this.sqlite.exec(readFileSync(`${root}/migrations/${name}`, "utf8"));
			this.sqlite.prepare("insert into d1_migrations values (?)").run(name);
		}
		const DB = {
			prepare: (sql: string) => ({ bind: (...values: SQLInputValue[]) => ({ sql, values }) }),
			batch: (statements: { sql: string; values: SQLInputValue[] }[]) => this.#batch(statements),
		};
		this.env = {
			DB,
			SECRETS_KEY: Buffer.alloc(32, secret).toString("base64"),
		} as unknown as Env;
	}

	/** Like D1: one transaction. */
	async #batch(statements: { sql: string; values: SQLInputValue[] }[]) {
		if (this.batches === 0) throw new Error("Killed.");
		this.batches -= 1;
		this.sqlite.exec("begin");
		try {
			const results = statements.map(({ sql, values }) => ({
				results: this.sqlite.prepare(sql).all(...values),
			}));
			this.sqlite.exec("commit");
			return results;
		} catch (error) {
			this.sqlite.exec("rollback");
			throw error;
		}
	}

	get database() {
		return new Database((command, options) =>
			run(this.env, command, JSON.parse(JSON.stringify(options))),
		);
	}

	/** Inserts a row, given by its values in the database. */
	insert(table: string, row: Record<string, SQLInputValue>) {
		const names = Object.keys(row);
		this.sqlite
			.prepare(
				`insert into "${table}" (${names.map((name) => `"${name}"`)}) values (${names.map(() => "?")})`,
			)
			.run(...Object.values(row));
	}

	all = (sql: string, ...values: SQLInputValue[]) => this.sqlite.prepare(sql).all(...values);
}

/** All tables of the schema, by name. */
export const CONFIGS = new Map(
	(
		await Promise.all(
			readdirSync(`${root}/src/db/schema`).map(
				(file) => import(`${root}/src/db/schema/${file}`) as Promise<object>,
			),
		)
	)
		.flatMap((module) => Object.values(module))
		.filter((value) => is(value, SQLiteTable))
		.map((table) => [getTableConfig(table).name, getTableConfig(table)]),
);
