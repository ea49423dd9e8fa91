import { DatabaseError } from "pg-protocol";
import { silence } from "../../../outbound/connection.ts";
import { MisconfiguredError } from "../../../outbound/errors.ts";
import { quote } from "../../../outbound/quote.ts";
import { PORT, type Settings } from "./definition.ts";

export class SignInRejectedError extends MisconfiguredError {}

/**
 * The classes and codes of temporary errors: connections, a standby that takes over, conflicts of
 * transactions, resources, locks, interventions of an operator, the system (PostgreSQL, appendix
 * A).
 */
const TEMPORARY = /^(08|25006|40|53|55P03|57|58|XX)/;

const INVALID_DATA = /^22/;

export const addressOf = ({ host, port }: Settings) =>
	`${host.includes(":") ? `[${host}]` : host}:${port ?? PORT}`;

/** Quotes a message without user and password. A short user is only removed in quotes. */
const quoted = ({ user, password }: Settings, message: string) =>
	quote([user, password], message.replaceAll(`"${user}"`, '"***"'));

/** Returns the meaning of an error code for the user; undefined if it is unknown. */
function meaningOf(error: DatabaseError, { config, table, key, timeoutMs }: Context) {
	const { code = "", message } = error;
	const seconds = timeoutMs / 1000;
	if (code.startsWith("28"))
		return /no encryption|SSL off/.test(message)
			? "The server offers no TLS and rejects connections without it: enable TLS, or allow this service in pg_hba.conf."
			: "The server rejects the credentials: check the user, the password, and whether pg_hba.conf lets this service in.";
	switch (code) {
		case "3D000":
			return `There is no database "${config.database}".`;
		case "25006":
			return "The server is read-only: it is a standby, or its transactions are read-only by default.";
		case "42P10":
			return `The table ${table} needs a unique index on ${key.join(", ")}.`;
		case "42501":
			return "The user needs TEMPORARY on the database, SELECT, INSERT and UPDATE on the table and, if the table doesn't exist, CREATE on its schema.";
		case "42703":
			return `The table ${table} lacks a column that the export writes.`;
		case "55P03":
			return `Another transaction has locked the table ${table}, or an object that it depends on.`;
		case "57014":
			return `A statement was cancelled, or took longer than ${seconds} seconds.`;
	}
	const [, column] = /column ([^:]+)/.exec(error.where ?? "") ?? [];
	return INVALID_DATA.test(code) && column
		? `The column ${column} of the table ${table} doesn't accept a value of the export.`
		: undefined;
}

export type Context = {
	config: Settings;
	table: string;
	key: string[];
	timeoutMs: number;
};

/** Returns the error of a statement, with a message for the user. */
export function explain(error: unknown, context: Context): unknown {
	const { config, timeoutMs } = context;
	const address = addressOf(config);
	if (!(error instanceof DatabaseError))
		return new Error(
			error instanceof Error && error.message === "Query read timeout"
				? silence(address, timeoutMs)
				: `The connection to ${address} was closed before the response was complete.`,
		);
	const { code = "", message } = error;
	const words = [meaningOf(error, context), `${address} says: ${quoted(config, message)}`]
		.filter(Boolean)
		.join(" ");
	if (TEMPORARY.test(code)) return new Error(words);
	return code.startsWith("28") || code === "3D000"
		? new SignInRejectedError(words)
		: new MisconfiguredError(words);
}
