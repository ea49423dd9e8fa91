import { MisconfiguredError } from "../../../outbound/errors.ts";
import { type HttpResponse, isTemporary, sender, unavailable } from "../../../outbound/send.ts";
import type { Settings } from "./definition.ts";

export const quoted = (name: string) =>
	`\`${name.replace(/[\\`]/g, (character) => `\\${character}`)}\``;

export const literal = (text: string) =>
	`'${text.replace(/[\\']/g, (character) => `\\${character}`)}'`;

export const tableNameOf = ({ table_name }: Settings) => table_name ?? "events";

export const tableOf = (config: Settings) => quoted(tableNameOf(config));

export const UNKNOWN_TABLE = 60;

/** Returns the code of the ClickHouse exception in a response; undefined if there is none. */
export function codeOf({ headers, text }: HttpResponse): number | undefined {
	const code = headers.get("x-clickhouse-exception-code") ?? /^Code: (\d+)\. DB::/m.exec(text)?.[1];
	return code === undefined ? undefined : Number(code);
}

const SIGN_IN = "The server rejects the credentials: check the user and the password.";
const NO_COLUMN = "The table lacks a column that the export writes.";

/** The meanings of exceptions that the user has to fix. Their HTTP status may be 500. */
const USER_ERRORS: Record<number, string> = {
	16: NO_COLUMN,
	44: "A column of the table is computed, so it can't be written.",
	47: NO_COLUMN,
	48: "The table, or its engine, doesn't accept inserts.",
	[UNKNOWN_TABLE]: "There is no such table.",
	81: "There is no such database.",
	115: "The server is too old: it lacks a setting that the export needs.",
	164: "The user or the server is read-only.",
	192: SIGN_IN,
	193: SIGN_IN,
	194: SIGN_IN,
	344: "The server doesn't support what the table needs.",
	452: "The user's profile forbids a setting that the export needs.",
	469: "A row breaks a constraint of the table.",
	497: "The user needs INSERT on the table and, if the table doesn't exist, CREATE TABLE.",
	516: SIGN_IN,
};

const TEMPORARY_ERRORS: Record<number, string> = {
	159: "The server took too long.",
	202: "The server runs too many queries at once.",
	241: "The server is short of memory.",
	242: "The table is read-only for now: its server has lost the connection to ClickHouse Keeper.",
	252: "The table has too many parts: the server can't merge them fast enough.",
};

/** The codes of exceptions in parsing and conversion: a column doesn't accept a value. */
const VALUE_ERRORS = [
	6, 25, 26, 27, 38, 41, 53, 69, 70, 72, 117, 131, 321, 349, 376, 407, 675, 676, 691,
];

function meaningOf(code: number, { text }: HttpResponse, table: string) {
	if (!VALUE_ERRORS.includes(code)) return USER_ERRORS[code] ?? TEMPORARY_ERRORS[code] ?? "";
	const column = /while reading the value of key ([^)]{1,200})\)/.exec(text)?.[1];
	return `${column ? `The column ${column}` : "A column"} of the table ${table} doesn't accept a value of the export.`;
}

/** Returns the error in a response; null if there is none. */
function problemOf(response: HttpResponse, table: string): Error | null {
	const code = codeOf(response);
	if (code === undefined && response.status < 300) return null;
	if (code === undefined && response.status < 400)
		return new MisconfiguredError("The url redirects: enter the URL that it redirects to.");
	const meaning = code === undefined ? "" : meaningOf(code, response, table);
	const message = [meaning, response.describe()].filter(Boolean).join(" ");
	const isUserError = code !== undefined && (code in USER_ERRORS || VALUE_ERRORS.includes(code));
	const isTemporaryError =
		code !== undefined && (code in TEMPORARY_ERRORS || response.status < 300);
	return !isUserError && (isTemporaryError || isTemporary(response))
		? unavailable(response, message)
		: new MisconfiguredError(message);
}

/** Returns the response of a successful statement. Throws an error for the user if it failed. */
export function check(response: HttpResponse, config: Settings) {
	const problem = problemOf(response, tableOf(config));
	if (problem) throw problem;
	return response;
}

/** Throws unless a response confirms an insert, with an empty body. The page of a proxy doesn't. */
export function checkInserted(response: HttpResponse, config: Settings) {
	if (check(response, config).text.trim() !== "")
		throw unavailable(response, `The insert was not confirmed. ${response.describe()}`);
}

/** Times are ISO 8601. The server responds after all rows are stored, and doesn't skip rows. */
const INSERT_SETTINGS = {
	date_time_input_format: "best_effort",
	input_format_null_as_default: "1",
	input_format_allow_errors_num: "0",
	input_format_allow_errors_ratio: "0",
	async_insert: "0",
};

export function connect(env: Env, config: Settings, timeoutMs: number) {
	const { url, database, user, password = "" } = config;
	const { exchange } = sender(env, timeoutMs);
	const credentials = Buffer.from(`${user ?? "default"}:${password ?? ""}`);
	const authorization = credentials.toString("base64");
	const secrets = password ? [password, authorization] : [];

	/** Sends a statement. The response may be an error. */
	function ask(statement: string, settings: Record<string, string> = {}) {
		const address = new URL(url);
		const parameters = { database, ...settings };
		for (const [name, value] of Object.entries(parameters)) address.searchParams.set(name, value);
		const request = new Request(address, {
			method: "POST",
			body: statement,
			headers: { authorization: `Basic ${authorization}` },
		});
		return exchange(request, secrets);
	}

	return {
		ask,
		run: async (...options: Parameters<typeof ask>) => check(await ask(...options), config),
		/**
		 * Inserts rows. The response may be an error.
		 * @param names the names of the columns
		 * @param lines a JSON object for each row
		 */
		insert: (names: string[], lines: string, settings: Record<string, string> = {}) =>
			ask(
				`INSERT INTO ${tableOf(config)} (${names.map(quoted).join(", ")}) FORMAT JSONEachRow\n${lines}`,
				{ ...INSERT_SETTINGS, ...settings },
			),
	};
}

export type Client = ReturnType<typeof connect>;
