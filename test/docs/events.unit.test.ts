import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { DEFAULTS, itemIntervalMs, TYPES } from "../../src/activity/notifications/types.ts";
import { EVENT_TYPES, SYSTEM_TYPES } from "../../src/db/event_types.ts";

/**
 * The rows of the table that follows a heading, each as its cells. The first one is in backquotes.
 */
function tableOf(page: string, heading: string) {
	const text = readFileSync(`${import.meta.dirname}/../../docs/${page}`, "utf8");
	const [, section = ""] = text.split(`\n## ${heading}\n`);
	const [own = ""] = section.split("\n## ");
	return Array.from(own.matchAll(/^\| (`.+) *\|$/gm), ([, row = ""]) =>
		row.split("|").map((cell) => cell.trim()),
	);
}

const typeIn = (cell = "") => cell.replaceAll("`", "");

const rows = tableOf("events.md", "Types");

test("docs/events.md lists the types of all events, in the order of the code, and says when each happens", () => {
	expect(rows.map(([type]) => typeIn(type))).toEqual(EVENT_TYPES);
	for (const [type, when = ""] of rows) expect(when.length, type).toBeGreaterThan(10);
});

test("docs/events.md says which events happen without a caller", () => {
	const bySystem = rows.filter(([, when]) => when?.endsWith("by the system"));
	expect(bySystem.map(([type]) => typeIn(type)).sort()).toEqual([...SYSTEM_TYPES].sort());
});

test("docs/notifications.md lists the types that can be mailed, with their default and interval", () => {
	const mailed = tableOf("notifications.md", "What is mailed");
	const words = { admins: "admins", owner: "its owner" };
	expect(mailed.map(([type, , to, every]) => [typeIn(type), to, every?.split(" ")[0]])).toEqual(
		TYPES.map((type) => {
			const recipients = DEFAULTS[type];
			const to = Array.isArray(recipients) ? "nobody" : words[recipients];
			return [type, to, itemIntervalMs(type) > 3_600_000 ? "day" : "hour"];
		}),
	);
});

test("docs/notifications.md says what each event without a caller has", () => {
	const types = tableOf("notifications.md", "Events").flatMap(([cell]) => typeIn(cell).split(", "));
	expect(types.sort()).toEqual([...SYSTEM_TYPES].sort());
});
