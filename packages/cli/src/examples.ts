/** Generates the examples in the help of commands. */
import { isScope, takesAlias } from "./path.ts";
import type { Command, Field, Group } from "./table.ts";
import { flagOf } from "./values.ts";

const UUID = "01a1fee4-ac61-7a85-9f31-6f4a5b7c8d99";

/** The groups whose objects have integers as ids. */
const NUMBERED = /projects|plugin|destinations|apps/;

const VALUES: Record<string, string> = {
	name: "'My name'",
	target_email: "ada@example.org",
	domain: "example.org",
	label: "CI",
	user_uuid: UUID,
	level: "8",
	scopes: "organization:read",
	url: "https://github.com/example/plugin",
	first_name: "Ada",
	interval: "hour",
	model: "events",
	plugin: "1",
	from: "start",
};

const BODIES: Record<string, string> = {
	"invites create-many": `'[{"target_email": "ada@example.org"}]'`,
	"events ingest": `'[{"event": "signed up", "distinct_id": "ada"}]'`,
};

function sampleOf({ name, kind, choices: [choice = "text"] = [] }: Field) {
	const known = VALUES[name];
	if (known) return known;
	if (kind === "boolean") return "true";
	if (kind === "json") return "@file.json";
	if (kind === "integer" || kind === "integers") return "1";
	return name.endsWith("_at") ? "2026-01-01T00:00:00Z" : choice;
}

const flag = (field: Field) => `${flagOf(field.name)} ${sampleOf(field)}`;

/**
 * Returns the options of an example: all required fields; if there are none, the first field of an
 * update.
 */
function optionsOf({ body = [], needsBody, verb }: Command) {
	const required = body.filter(({ isRequired }) => isRequired);
	if (required.length > 0) return required.map(flag);
	const [first] = body;
	return first && (needsBody || verb === "PATCH") ? [flag(first)] : [];
}

/** Returns the examples of a command as text for its help. */
export function examplesOf({ name }: Group, operation: Command) {
	const words = operation.path
		.filter((field) => !isScope(field) && !takesAlias(operation, field))
		.map((field) => {
			if (field.name === "token") return "TOKEN";
			return field.name === "id" && NUMBERED.test(name) && !name.endsWith("exports") ? "1" : UUID;
		});
	const start = ["tenantry", name, operation.name, ...words].join(" ");
	const whole = [start, ...optionsOf(operation)].join(" ");
	const isFree = operation.body?.length === 0;
	const file = BODIES[`${name} ${operation.name}`] ?? "@file.json";
	const lines = [isFree ? `${start} --data ${file}` : whole];
	if (operation.columns) lines.push(`${start} --all --json`);
	if (operation.columns && operation.name.endsWith("logs")) lines.push(`${start} --follow`);
	if (operation.body && !isFree) lines.push(`${start} --data @file.json`);
	if (operation.verb === "DELETE") lines.push(`${start} --yes`);
	return `\nExamples:\n${lines.map((line) => `  $ ${line}`).join("\n")}`;
}
