import type pg from "pg";
import Client from "pg/lib/client.js";
import Query from "pg/lib/query.js";
import { DatabaseError } from "pg-protocol";
import { within } from "../../../lib/within.ts";
import { connectionError, silence } from "../../../outbound/connection.ts";
import { MisconfiguredError } from "../../../outbound/errors.ts";
import { assertReachable } from "../../../outbound/send.ts";
import { PORT } from "./definition.ts";
import { addressOf, type Context, explain } from "./errors.ts";

const NO_TLS = "The server does not support SSL connections";
const NOT_CONNECTED = "cannot connect";
const NOT_POSTGRES = "There was an error establishing an SSL connection";

/** The client waits longer than the server, so that a slow server reports its own timeout. */
const CLIENT_TIMEOUT_FACTOR = 1.25;
/** Shorter than the timeout of a statement, so that waiting for a lock has its own error. */
const LOCK_TIMEOUT_FACTOR = 0.75;

/** The header of a CopyData message: type and length (PostgreSQL, "Message Formats"). */
function copyDataHead({ byteLength }: Uint8Array) {
	const head = Buffer.from("d0000");
	head.writeInt32BE(byteLength + 4, 1);
	return head;
}

const COPY_DONE = Buffer.from("c\0\0\0\u0004");

/** Statements without values, one of which is a COPY … FROM STDIN. */
class CopyQuery extends Query {
	readonly #data: Uint8Array[];

	constructor(sql: string, data: Uint8Array[], callback: (error?: Error | null) => void) {
		super(sql, callback);
		this.#data = data;
	}

	/** `pg` calls this when the server waits for the data. The method of `Query` doesn't send any. */
	handleCopyInResponse({ stream }: pg.Connection) {
		for (const chunk of this.#data) {
			stream.write(copyDataHead(chunk));
			stream.write(chunk);
		}
		stream.write(COPY_DONE);
	}
}

export type Session = {
	/** @param values for $1, $2, …; without values, `sql` may contain several statements */
	query(sql: string, values?: (string | string[])[]): Promise<{ rows: Record<string, unknown>[] }>;
	/** Sends all statements at once. `data` is the input of the COPY statement. */
	copy(sql: string, data: Uint8Array[]): Promise<void>;
	end(): void;
	/** Closes the connection at once. */
	destroy(): void;
};

/** SQL that begins a transaction in which values are parsed the same way everywhere. */
export const begin = (timeoutMs: number) =>
	[
		"begin",
		`set local statement_timeout = ${timeoutMs}`,
		`set local lock_timeout = ${Math.round(timeoutMs * LOCK_TIMEOUT_FACTOR)}`,
		"set local client_encoding = 'UTF8'",
		"set local timezone = 'UTC'",
		"set local lc_monetary = 'C'",
	].join(";");

/**
 * Connects and signs in, with TLS if the server offers it.
 * @throws MisconfiguredError, or an Error if a retry may succeed, with a message for the user
 */
export async function connect(env: Env, context: Context, tls = true): Promise<Session> {
	const { config, timeoutMs } = context;
	const { host, port, user, password, database } = config;
	const address = addressOf(config);
	await assertReachable(env, host);
	const client = new Client({
		host,
		port: port ?? PORT,
		user,
		password,
		database,
		ssl: tls,
		query_timeout: timeoutMs * CLIENT_TIMEOUT_FACTOR,
	});
	// An error between two statements makes the next one fail.
	client.on("error", () => {});
	const { connection } = client;
	let secured = false;
	let heardSecurely = false;
	connection.once("sslconnect", () => {
		secured = true;
	});
	connection.stream.on("data", () => {
		heardSecurely = secured;
	});
	const timeout = new Error(silence(address, timeoutMs));
	try {
		await within(timeoutMs, timeout, () => client.connect());
		return session(client, context);
	} catch (error) {
		connection.stream.destroy();
		const message = error instanceof Error ? error.message : "";
		if (tls && message === NO_TLS) return await connect(env, context, false);
		if (error === timeout) throw error;
		if (error instanceof DatabaseError) throw explain(error, context);
		if (secured && !heardSecurely)
			throw new MisconfiguredError(
				`The certificate of ${address} is invalid: it must name the host and be issued by a public authority. Self-signed certificates aren't supported, and if a server offers TLS, the service doesn't connect without it.`,
			);
		if (message === NOT_POSTGRES)
			throw new Error(`${address} doesn't respond like PostgreSQL: check the host and the port.`);
		if (message.includes(NOT_CONNECTED)) throw await connectionError(env, host, address);
		throw new Error(`The connection to ${address} was closed during sign-in.`);
	}
}

function session(client: Client, context: Context): Session {
	const rethrow = (error: unknown): never => {
		throw explain(error, context);
	};
	return {
		query: (sql, values) => client.query(sql, values).catch(rethrow),
		copy: (sql, data) =>
			new Promise<void>((resolve, reject) =>
				client.query(new CopyQuery(sql, data, (error) => (error ? reject(error) : resolve()))),
			).catch(rethrow),
		end: () => client.connection.end(),
		destroy: () => void client.connection.stream.destroy(),
	};
}
