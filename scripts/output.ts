/** What `wrangler dev` prints, as `npm start` shows it: requests and errors in one line each, without the rest. */
import { copyFileSync, createWriteStream, readFileSync } from "node:fs";
import { basename } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { state } from "./state.ts";

const MAX_ERROR_LENGTH = 300;

/** Everything, as it was printed. Each start begins a new file. */
export const logFile = `${state}/server.log`;

const REQUEST = /^[A-Z]+ \/\S* \d{3} \d+ ms \d+ trips?$/;
const HEALTHY = /^GET \/healthz 200 /;

/** What wrangler says of itself, on either stream. */
const NOISE = [
	/^\s*$/,
	/^\[wrangler:info\]/,
	/^⎔ /,
	/^🪵/u,
	/^Using secrets defined in /,
	/^Your Worker has access to the following bindings:$/,
	/^Binding {2,}Resource/,
	/^env\.\w+ /,
	/^send_email binding called with the following message:$/,
	/^Note that there is a newer version of Wrangler/,
	/^If you think this is a bug then please create an issue/,
	/Scheduled Workers are not automatically triggered/,
	/^ {2}To manually trigger a scheduled event, run:$/,
	/^ {4}curl "http.*\/cdn-cgi\/local\/scheduled"$/,
	/^ {2}For more details, see .*cron-triggers/,
	// Where in the code, or in the runtime, an error came from.
	/^\s+at /,
	/^\s*stack: /,
];

/** An error that the worker logged, in words. */
function describe(json: string) {
	const { request_id, job, error, warning }: Record<string, unknown> = JSON.parse(json);
	const where = request_id ? ` in request ${request_id}` : job ? ` in job ${job}` : "";
	const kind = warning ? `Warning${where}: ${warning}` : `Error${where}`;
	const [first = ""] = String(error).split("\n");
	return `${kind}: ${first.replace(/^Error: /, "")}`.slice(0, MAX_ERROR_LENGTH);
}

/** Where in the runtime's own source an error arose: `e = rust/worker/ffi.rs:110: failed: `. */
const RUNTIME_SOURCE = /^(?:\w+ = )?\S+\.(?:rs|c\+\+|h):\d+: (?:failed: )?/;

/** A line of the server's error stream in words; undefined: it says nothing to a reader. */
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

/** The link of an invite in a mail (quoted-printable); undefined: there is none. */
const linkIn = (mail: string) =>
	/https?:\/\/\S+\/invites\/[\w-]{43}/.exec(mail.replace(/=\r?\n/g, "").replace(/=3D/g, "="))?.[0];

/** Mails are written to files that go with the server; a copy is kept beside the state. */
function keepMail(file: string) {
	const copy = `${state}/mail/${basename(file)}`;
	copyFileSync(file, copy);
	const link = linkIn(readFileSync(copy, "utf8"));
	return `A mail was sent: ${copy}${link ? `, with the link ${link}` : ""}`;
}

/** A line of the server's output as it is shown; undefined: it isn't. */
function show(line: string) {
	const [, mail] = /^Email: (.+\.eml)$/.exec(line) ?? [];
	if (mail) return keepMail(mail);
	if (line.startsWith("⎔ Reloading")) return "The code changed. Reloading…";
	const hidden = HEALTHY.test(line) || NOISE.some((noise) => noise.test(line));
	return hidden ? undefined : line;
}

/** Keeps what a server prints, and hands over what is to be shown. */
export function reader() {
	const log = createWriteStream(logFile, { mode: 0o600 });
	/** @returns the line as it is shown, and whether it proves that a request was answered */
	return (raw: string, stream: "stdout" | "stderr") => {
		log.write(`${raw}\n`);
		const line = stripVTControlCharacters(raw);
		return {
			text: stream === "stdout" ? show(line) : explain(line),
			answered: REQUEST.test(line),
		};
	};
}
