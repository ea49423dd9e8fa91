import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { DEFAULTS, TYPES } from "../../src/activity/notifications/types.ts";
import { typeOf } from "../../src/db/event_types.ts";

const ROOT = path.join(import.meta.dirname, "../..");

/** Returns the texts of the files in a folder that end with `.ts` or `.sql`, in their order. */
const textsIn = (folder: string) =>
	readdirSync(path.join(ROOT, folder), { recursive: true, encoding: "utf8" })
		.filter((file) => /\.(ts|sql)$/.test(file))
		.sort()
		.map((file) => ({
			file: `${folder}/${file}`,
			text: readFileSync(path.join(ROOT, folder, file), "utf8"),
		}));

/** The statements that create the triggers that exist after all migrations, by name. */
const triggers = new Map<string, string>();
for (const { text } of textsIn("migrations"))
	for (const statement of text.split("--> statement-breakpoint")) {
		const [, action, name = ""] = /^\s*(CREATE|DROP) TRIGGER (\w+)/.exec(statement) ?? [];
		if (action === "CREATE") triggers.set(name, statement);
		if (action === "DROP") triggers.delete(name);
	}

test("each trigger is named beside its table, and no other", () => {
	const documented = textsIn("src/db/schema").flatMap(({ text }) =>
		[
			...text.matchAll(/\/\*\*((?:(?!\*\/).)*)\*\/\nexport const \w+ = sqliteTable\(\s*"(\w+)"/gs),
		].flatMap(([, comment = "", table]) =>
			[...comment.matchAll(/Trigger `(\w+)`/g)].map(([, name]) => `${name} on ${table}`),
		),
	);
	const existing = [...triggers].map(
		([name, statement]) => `${name} on ${/ ON (\w+)/.exec(statement)?.[1]}`,
	);
	expect(documented.sort()).toEqual(existing.sort());
});

test("a comment about a trigger names it", () => {
	const nameless = textsIn("src").flatMap(({ file, text }) =>
		[...text.matchAll(/\/\*(?:(?!\*\/).)*\*\/|(?:\/\/[^\n]*\s*)+/gs)]
			.map(([comment]) => comment)
			.filter((comment) => /\b(?:a|the|by|database)\s(?:\*\s)?triggers?\b/i.test(comment))
			.filter((comment) => ![...triggers.keys()].some((name) => comment.includes(`\`${name}\``)))
			.map((comment) => `${file}: ${comment}`),
	);
	expect(nameless).toEqual([]);
});

test("the trigger for alerts has the types that are mailed by default", () => {
	const alert = triggers.get("activity_log_alert") ?? "";
	const listed = [...alert.matchAll(/'([A-Z]\w+)\.(\w+)'/g)].map(([, scope = "", activity = ""]) =>
		typeOf({ scope, activity }),
	);
	expect(listed.sort()).toEqual(TYPES.filter((type) => DEFAULTS[type].length > 0).sort());
});
