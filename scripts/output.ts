/**
 * Filters the output of `wrangler dev` for `npm start`: shows requests and errors in one line each,
 * and hides the rest.
 */
import { openSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { basename } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { state } from "./state.ts";

const MAX_ERROR_LENGTH = 300;

/** The unfiltered output. Each start overwrites the file. */
export const logFile = `${state}/server.log`;

const REQUEST = /^[A-Z]+ \/\S* \d{3} \d+ ms \d+ trips?$/;
const HEALTHY = /^GET \/healthz 200 /;

/** Wrangler prints these lines for each mail. */
const MAIL_HEADER = /^(From|To|Subject): /;

/** Wrangler's own messages, on either stream. */
const NOISE = [
	/^\s*$/,
	/^\[wrangler:info\]/,
	/^⎔ /,
	/^🪵/u,
	/^Using secrets defined in /,
	/^Your Worker has access to the following bindings:$/,
	/^Binding {2,}Resource/,
	/^env\.\w+ /,
	/^send_email binding called with MessageBuilder:$/,
	MAIL_HEADER,
	/^HTML: .+\.html$/,
	/^Note that there is a newer version of Wrangler/,
	/^If you think this is a bug then please create an issue/,
	/Scheduled Workers are not automatically triggered/,
	/^ {2}To manually trigger a scheduled event, run:$/,
	/^ {4}curl "http.*\/cdn-cgi\/local\/scheduled"$/,
	/^ {2}For more details, see .*cron-triggers/,
	// Stack traces.
	/^\s+at /,
	/^\s*stack: /,
];

/** Names of log fields, where they differ from the field. */
const SUBJECTS: Record<string, string> = {
	request_id: "request",
	part: "the part",
	audit_stream: "audit stream",
};

/** Formats an error that the worker logged as JSON. */
function describe(json: string) {
	const { error, warning, ...about }: Record<string, unknown> = JSON.parse(json);
	const where = Object.entries(about)
		.map(([name, value]) => ` in ${SUBJECTS[name] ?? name} ${value}`)
		.join("");
	const kind = warning ? `Warning${where}: ${warning}` : `Error${where}`;
	const [first = ""] = String(error).split("\n");
	return `${kind}: ${first.replace(/^Error: /, "")}`.slice(0, MAX_ERROR_LENGTH);
}

/**
 * The position in the runtime's source that precedes an error:
 * `e = rust/worker/ffi.rs:110: failed: `.
 */
const RUNTIME_SOURCE = /^(?:\w+ = )?\S+\.(?:rs|c\+\+|h):\d+: (?:failed: )?/;

/** Formats a line of the server's stderr. Returns undefined for a line to hide. */
export function explain(line: string) {
	if (NOISE.some((pattern) => pattern.test(line))) return undefined;
	const [, text] = /^✘ \[ERROR\] (.*)$/.exec(line) ?? [];
	if (text === undefined) return line;
	try {
		return describe(text);
	} catch {
		return `Error: ${text.replace(RUNTIME_SOURCE, "")}`;
	}
}

/** Returns the link in a mail that accepts an invite or signs in; undefined if there is none. */
const linkIn = (mail: string) =>
	/https?:\/\/\S+\/(?:invites\/|console\/sign_in#token=)[\w-]{43}/.exec(mail)?.[0];

/**
 * Writes a mail's headers and text into the state's folder, because the server deletes its files
 * when it stops. Returns a line to show.
 * @param headers the lines about its sender, recipients and subject
 */
function keepMail(file: string, headers: string[]) {
	const copy = `${state}/mail/${basename(file)}`;
	const text = readFileSync(file, "utf8");
	writeFileSync(copy, `${headers.join("\n")}\n\n${text}`, { mode: 0o600 });
	const link = linkIn(text);
	const [to = ""] = headers.filter((line) => line.startsWith("To: "));
	return `A mail was sent${to.replace("To: ", " to ")}: ${copy}${link ? `, with the link ${link}` : ""}`;
}

/**
 * Formats a line of the server's stdout. Returns undefined for a line to hide.
 * @param headers collects the headers of a mail, which come before the line with the file of its
 * text
 */
function show(line: string, headers: string[]) {
	if (MAIL_HEADER.test(line)) headers.push(line);
	const [, mail] = /^Text: (.+\.txt)$/.exec(line) ?? [];
	if (mail)
		try {
			return keepMail(mail, headers.splice(0));
		} catch (error) {
			return `A mail was sent, but could not be stored: ${error}`;
		}
	if (line.startsWith("⎔ Reloading")) return "The code changed. Reloading…";
	const hidden = HEALTHY.test(line) || NOISE.some((noise) => noise.test(line));
	return hidden ? undefined : line;
}

/** Writes a server's output to the log file, and returns a function that formats each line. */
export function reader() {
	const log = openSync(logFile, "w", 0o600);
	const headers: string[] = [];
	/**
	 * @returns the text to show, if any, and whether the line shows that the server responded to a
	 * request
	 */
	return (raw: string, stream: "stdout" | "stderr") => {
		try {
			writeSync(log, `${raw}\n`);
		} catch {
			// A full disk must not stop the server.
		}
		const line = stripVTControlCharacters(raw);
		return {
			text: stream === "stdout" ? show(line, headers) : explain(line),
			answered: REQUEST.test(line),
		};
	};
}
