import pg from "pg";
import { type Config, POSTGRES_PORT } from "../../batch_exports/destination.ts";
import { toJson } from "../formats/jsonlines.ts";
import type { Column, Kind, Model, Row } from "../rows.ts";
import { type Destination, type Job, Misconfigured } from "./destination.ts";
import { admit } from "./send.ts";
import { trial } from "./trial.ts";

const TYPES: Record<Kind, string> = {
	text: "text",
	json: "jsonb",
	integer: "bigint",
	number: "double precision",
	boolean: "boolean",
	date: "date",
	timestamp: "timestamptz",
};

/** What tells rows apart. */
const KEYS: Record<Model, string[]> = {
	events: ["uuid"],
	persons: ["team_id", "distinct_id"],
};

/**
 * Classes and codes of errors that may pass: connections, transactions that collide, resources, locks, what an operator
 * does, the system (PostgreSQL, appendix A).
 */
const PASSING = /^(08|40|53|55P03|57|58|XX)/;

const NO_TLS = "The server does not support SSL connections";

type Settings = Config<"Postgres">;

/** Nothing outlives a write: rows are safe as soon as it is done. */
type State = Record<string, never>;

const quoted = (...names: string[]) =>
	names.map((name) => pg.escapeIdentifier(name)).join(", ");

/** The server said nothing for too long. */
class Silence extends Error {}

/** The server refuses the user. */
class SignInRefused extends Misconfigured {}

/** What the server's words mean for the user. */
function explained(error: unknown, { user, password, database }: Settings) {
	if (!(error instanceof pg.DatabaseError)) return error;
	const { code = "", message } = error;
	const words = [
		[`"${user}"`, "the user"],
		[password, "the password"],
	].reduce(
		(text, [secret = "", word = ""]) => text.replaceAll(secret, word),
		message,
	);
	if (PASSING.test(code)) return new Error(`The server says: ${words}.`);
	if (code.startsWith("28"))
		return new SignInRefused(
			"The server refuses to sign in: check the user, the password, and whether it lets this service in.",
		);
	if (code === "3D000")
		return new SignInRefused(`There is no database "${database}".`);
	if (code === "42P10")
		return new Misconfigured(
			"The table has no unique index on what tells rows apart.",
		);
	return new Misconfigured(`The server says: ${words}.`);
}

/** Asks the server, with values for $1, $2, … */
type Query = (
	sql: string,
	values?: string[],
) => Promise<{ rows: Record<string, unknown>[] }>;

type Session = { query: Query; close(): void };

/** Signs in, with TLS if the server offers it. */
async function connect(
	env: Env,
	config: Settings,
	patience: number,
	tls = true,
): Promise<Session> {
	const { host, port, user, password, database } = config;
	await admit(env, host);
	const client = new pg.Client({
		host,
		port: port ?? POSTGRES_PORT,
		user,
		password,
		database,
		ssl: tls,
		query_timeout: patience,
	});
	// What breaks between two queries is told by the next one.
	client.on("error", () => {});
	const { connection } = client;
	const close = () => void connection.stream.destroy();
	/** How far TLS has come: the server agreed to it, and was heard through it. */
	let secured = false;
	let heard = false;
	connection.once("sslconnect", () => {
		secured = true;
	});
	connection.stream.on("data", () => {
		heard = secured;
	});
	const { promise: late, reject } = Promise.withResolvers<never>();
	const timer = setTimeout(
		() =>
			reject(
				new Silence(
					`${host} did not answer within ${patience / 1000} seconds.`,
				),
			),
		patience,
	);
	try {
		await Promise.race([client.connect(), late]);
		return { query: (sql, values) => client.query(sql, values), close };
	} catch (error) {
		close();
		if (tls && error instanceof Error && error.message === NO_TLS)
			return await connect(env, config, patience, false);
		if (error instanceof pg.DatabaseError || error instanceof Silence)
			throw error;
		if (secured && !heard)
			throw new Misconfigured(
				"The server's certificate is refused: it has to name the host and come from a public authority. A self-signed one can't be accepted, and a server that offers TLS is sent nothing without it.",
			);
		throw new Error(`The connection to ${host} failed.`);
	} finally {
		clearTimeout(timer);
	}
}

/** The characters that PostgreSQL can't store, NUL and half surrogate pairs, as U+FFFD. */
const storable = (json: string) =>
	json.replace(
		/\\u(?:d[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|(0000|d[89a-f][0-9a-f]{2}))|\\./gi,
		(all, lone) => (lone === undefined ? all : "\\ufffd"),
	);

/** The rows, and of those with the same key the last. */
function latest({ columns, model }: Job, rows: Row[]) {
	const at = KEYS[model].map((name) =>
		columns.findIndex((column) => column.name === name),
	);
	return new Map(
		rows.map((row) => [JSON.stringify(at.map((i) => row[i])), row]),
	).values();
}

/** A table of PostgreSQL, made where it is missing, in which each row is once: what comes again replaces it. */
export function postgres(
	env: Env,
	config: Settings,
	patience: number,
): Destination<State> {
	const { schema: nullable, table_name } = config;
	const schema = nullable ?? "public";
	const names = [schema, table_name ?? "events"];
	const table = names.map((name) => quoted(name)).join(".");

	const BEGIN = `begin; set local statement_timeout = ${patience}`;

	/** Does the work in a connection of its own, which is closed whatever happens. */
	async function session(work: (session: Session) => Promise<void>) {
		let open: Session | undefined;
		try {
			open = await connect(env, config, patience);
			await work(open);
		} catch (error) {
			throw explained(error, config);
		} finally {
			open?.close();
		}
	}

	/** Throws unless rows may be put into the table that is there. */
	async function mayWrite(query: Query) {
		const { rows } = await query(
			`select privilege from unnest(array['select', 'insert', 'update']) as privileges (privilege)
				where not has_table_privilege($1, privilege)`,
			[table],
		);
		if (rows.length > 0)
			throw new Misconfigured(
				"The user has to be allowed to select from the table, to insert into it and to update it.",
			);
	}

	/** Makes the table unless it is there; whether it was. One at a time, since two that make it at once would collide. */
	async function ensure(query: Query, columns: Column[], key: string[]) {
		await query("select pg_advisory_xact_lock(hashtext($1))", [table]);
		const { rows } = await query(
			`select to_regnamespace($1) is null as homeless, to_regclass($2) is not null as there`,
			[quoted(schema), table],
		);
		const [{ homeless, there } = {}] = rows;
		if (there) return true;
		if (homeless) await query(`create schema ${quoted(schema)}`);
		const defined = columns.map(
			({ name, kind }) => `${quoted(name)} ${TYPES[kind]}`,
		);
		await query(
			`create table ${table} (${defined.join(", ")}, primary key (${quoted(...key)}))`,
		);
		return false;
	}

	return {
		database: true,

		async open(job) {
			const { columns, model } = job;
			const key = KEYS[model];
			const all = quoted(...columns.map(({ name }) => name));
			const changed = columns
				.filter(({ name }) => !key.includes(name))
				.map(({ name }) => `${quoted(name)} = excluded.${quoted(name)}`);
			const upsert = `insert into ${table} (${all})
				select ${all} from jsonb_to_recordset($1::jsonb) as rows (${columns
					.map(({ name, kind }) => `${quoted(name)} ${TYPES[kind]}`)
					.join(", ")})
				on conflict (${quoted(...key)}) do ${
					changed.length > 0 ? `update set ${changed.join(", ")}` : "nothing"
				}`;
			let ensured = false;
			return {
				async write(rows) {
					const objects = [...latest(job, rows)].map((row) =>
						toJson(columns, row),
					);
					await session(async ({ query }) => {
						await query(BEGIN);
						if (!ensured) await ensure(query, columns, key);
						await query(upsert, [storable(`[${objects.join(",")}]`)]);
						await query("commit");
					});
					ensured = true;
					return {};
				},
				close: async () => [],
			};
		},

		async abort() {},

		test: () => {
			let open: Session | undefined;
			let refusal: unknown;
			const inSession = (work: (query: Query) => Promise<unknown>) =>
				open &&
				work(open.query).catch((error) => {
					throw explained(error, config);
				});
			return trial({
				reach: async () => {
					open = await connect(env, config, patience).catch((error) => {
						refusal = explained(error, config);
						if (refusal instanceof SignInRefused) return undefined;
						throw refusal;
					});
				},
				"sign in": async () => {
					if (refusal) throw refusal;
				},
				write: async () =>
					inSession(async (query) => {
						await query(BEGIN);
						const column: Column = { name: "uuid", kind: "text" };
						if (await ensure(query, [column], ["uuid"])) return mayWrite(query);
						await query(`insert into ${table} values ('test')`);
					}),
				remove: async () => inSession((query) => query("rollback")),
			}).finally(() => open?.close());
		},
	};
}
