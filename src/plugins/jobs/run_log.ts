import { type SQL, sql } from "drizzle-orm";
import * as z from "zod";
import type { Database } from "../../db/client.ts";
import { pluginLogs } from "../../db/schema/plugins.ts";
import { append, type Logs } from "../../db/stored_log.ts";
import { redactor, variants } from "../../keys/secrets.ts";
import { now } from "../../lib/time.ts";

export const MAX_ENTRIES = 1000;
export const MAX_MESSAGE_LENGTH = 4000;

/** A log entry from the isolate. Anything else was forged by the plugin, and is ignored. */
const Line = z.object({
	source: z.enum(["PLUGIN", "CONSOLE"]),
	level: z.enum(["DEBUG", "LOG", "INFO", "WARN", "ERROR"]),
	message: z.string(),
});

export type Entry = Pick<z.infer<typeof Line>, "level" | "message"> & {
	/** RFC 3339. When the host received the entry, so that entries are in order. */
	timestamp: string;
	source: "SYSTEM" | "PLUGIN" | "CONSOLE";
};

/** Returns the log of one run, of at most `MAX_ENTRIES`, without `secrets`. */
export function runLog(secrets: string[]) {
	const redact = logRedactor(secrets);
	const entries: Entry[] = [];
	let full = false;
	const write = (source: Entry["source"], level: Entry["level"], message: string) =>
		entries.push({ timestamp: now(), source, level, message: redact(message) });
	return {
		/** Adds entries from the isolate, which can have any value. */
		receive(lines: unknown) {
			if (full || !Array.isArray(lines)) return;
			for (const line of lines.slice(0, MAX_ENTRIES + 1)) {
				const parsed = Line.safeParse(line);
				if (!parsed.success) continue;
				full = entries.length === MAX_ENTRIES;
				if (full) return;
				const { source, level, message } = parsed.data;
				write(source, level, message);
			}
		},
		/** Ends the log. The error, if any, is its last entry. */
		close(error: string | null) {
			if (full) {
				const message = `The run wrote more than ${MAX_ENTRIES} entries; the others were dropped.`;
				write("SYSTEM", "WARN", message);
			}
			if (error !== null) write("SYSTEM", "ERROR", error);
			return { entries, error: error === null ? null : redact(error) };
		},
	};
}

/** Returns a function that redacts secrets, also JSON-escaped and truncated ones. */
function logRedactor(secrets: string[]) {
	const hide = redactor(secrets);
	return (message: string) => {
		let text = hide(message);
		if (message.length <= MAX_MESSAGE_LENGTH) return text;
		for (const secret of variants(secrets)) {
			let overlap = Math.min(secret.length, text.length);
			while (overlap > 0 && !text.endsWith(secret.slice(0, overlap))) overlap -= 1;
			text = text.slice(0, text.length - overlap);
		}
		return `${text.slice(0, MAX_MESSAGE_LENGTH).toWellFormed()}…`;
	};
}

export const PLUGIN_LOGS: Logs = { table: pluginLogs, owner: pluginLogs.plugin_config_id };

/** Returns a statement that adds SYSTEM entries. */
export const logSystem = (db: Database, config: number | SQL<number>, messages: string[]) => {
	const entries = messages.map((message) => systemEntry("INFO", message));
	return append(db, PLUGIN_LOGS, { owner: config, entries }, sql`true`);
};

export const systemEntry = (level: Entry["level"], message: string): Entry => ({
	timestamp: now(),
	source: "SYSTEM",
	level,
	message,
});
