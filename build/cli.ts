/** Builds packages/cli/src/generated.ts from public/openapi.json: a table of the commands. */
import type { Command, Field, Group } from "../packages/cli/src/table.ts";
import { LEVEL_NAMES } from "../src/db/schema/levels.ts";
import { document, resolve } from "./client/document.ts";
import { type Call, calls, isFile, parameterName } from "./client/operations.ts";
import type { Parameter, Schema } from "./client/schema.ts";
import { write } from "./files.ts";

const kebab = (name: string) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** Returns the name of a resource's group of commands, without words that go without saying. */
const groupName = (resource: string) =>
	kebab(resource)
		.replace(/batch-|personal-api-|pipeline-|-log$/, "")
		.replace("oauth-grants", "apps");

/** The topics in the help, and their groups, those that people use most first. */
const TOPICS: Record<string, string[]> = {
	"People and access": [
		...["members", "invites", "project-members", "service-accounts", "service-account-keys"],
		...["roles", "role-members", "access-controls", "access"],
		...[
			"credentials",
			"trusted-issuers",
			"organization-apps",
			"oauth-clients",
			"member-identities",
		],
	],
	"Exports and events": ["exports", "project-exports", "events"],
	"Organizations and projects": ["organizations", "projects", "organization-projects"],
	"What happened, and who is told": [
		...[
			"attention",
			"activity",
			"project-activity",
			"feed",
			"notifications",
			"webhooks",
			"audit-streams",
		],
	],
	Plugins: [
		"plugins",
		"plugin-configs",
		"organization-plugin-configs",
		"destinations",
		"frontend-apps",
		"import-apps",
	],
	"Single sign-on": ["domains", "sign-in-tests", "scim-tokens", "scim-groups", "scim-requests"],
	"Your account": [
		...["keys", "users", "two-factor", "passkeys", "sessions", "apps", "identities", "sign-in"],
		...["app-requests", "device-requests"],
	],
};

/** The topic of the groups that are in no other. */
const OTHERS = "Others";

const places = Object.entries(TOPICS).flatMap(([topic, names]) =>
	names.map((name) => ({ name, topic })),
);

/** Returns the topic of a group, and its place in the help. */
function placeOf(group: string) {
	const place = places.findIndex(({ name }) => name === group);
	return { topic: places[place]?.topic ?? OTHERS, place: place < 0 ? places.length : place };
}

/** Returns the name of a method's command: `listLogs` is `logs`. */
const commandName = (method: string) => kebab(method).replace(/^list-/, "");

/** Returns the first paragraph of a description, for the help of an option. */
const short = (text: string | undefined) => text?.split("\n\n")[0]?.replaceAll("`", "") ?? "";

/** Returns the types that a value can have, except null. */
function typesOf(schema: Schema): string[] {
	const { type, anyOf, enum: values } = resolve(schema);
	if (anyOf) {
		const own = [type ?? []].flat();
		return anyOf.flatMap((part) => (part.type || part.$ref ? typesOf(part) : own));
	}
	return [type ?? (values ? "string" : "object")].flat().filter((name) => name !== "null");
}

function kindOf(schema: Schema): Field["kind"] {
	const [type, ...others] = [...new Set(typesOf(schema))];
	if (others.length > 0) return "json";
	if (type === "array") {
		const [item] = typesOf(resolve(schema).items ?? {});
		if (item === "string") return "strings";
		return item === "integer" ? "integers" : "json";
	}
	return type === "string" || type === "integer" || type === "number" || type === "boolean"
		? type
		: "json";
}

/** Returns the names of the values of a field that is a level of a membership. */
function wordsOf(name: string, schema: Schema) {
	const values = resolve(schema).enum ?? [];
	const words = Object.entries(LEVEL_NAMES).filter(([, level]) => values.includes(level));
	return /(^|_)level$/.test(name) && words.length > 1 ? Object.fromEntries(words) : undefined;
}

function choicesOf(schema: Schema): string[] {
	const { enum: values, items } = resolve(schema);
	const all = values ?? items?.enum ?? [];
	return all.filter((value) => typeof value === "string");
}

function fieldOf(name: string, schema: Schema, description?: string): Field {
	const words = wordsOf(name, schema);
	const choices = words ? Object.keys(words) : choicesOf(schema);
	return {
		name,
		kind: kindOf(schema),
		help: short(description ?? schema.description),
		...(choices.length > 0 && { choices }),
		...(words && { words }),
	};
}

const pathField = ({ name, description, schema }: Parameter): Field => {
	const alias = /@\w+/.exec(JSON.stringify(schema))?.[0];
	return {
		name: parameterName(name),
		kind: "string",
		help: short(description),
		...(alias && { alias }),
	};
};

function bodyFields({ body }: Call) {
	const { properties = {}, required = [] } = body ? resolve(body) : {};
	return Object.entries(properties).map(([name, schema]) => ({
		...fieldOf(name, schema),
		...(required.includes(name) && { isRequired: true as const }),
	}));
}

/** Fields that tables leave out, because few people look for them in a list. */
const MINOR =
	/^(uuid|team_id|organization_id|logo_media_id|icon|metadata|customer_id|updated_at|last_updated_at|cursor|batch_export|xql_query|verification_challenge|(saml|oidc)_.*|jit_provisioning_level|last_paused_at|instance_id|plugin_config_id|x_function_migration_available|emailing_attempt_made|is_member_join_email_enabled|value)$/;

/** Fields that narrow tables leave out before others. */
const LESS =
	/^(slug|plugins_access_level|enforce_2fa|keys_must_expire|session_idle_minutes|session_max_minutes|first_name|message|timezone|model|records_total_count|by|sequence|digest|last_file)$/;

/** Values in objects and lists that tables show, too, such as the status of an export's last run. */
const WITHIN: Record<string, string[]> = {
	latest_runs: ["0.status", "0.latest_error"],
	undelivered: ["windows"],
};

const isId = (name: string, schema: Schema) =>
	/(^|[_.])(id|uuid)$/.test(name) || resolve(schema).format === "uuid";

/** Whether other commands take the ids of a list's objects. */
const isTaken = ({ path }: Call) => calls().some((call) => call.path.startsWith(`${path}/{`));

/**
 * Returns the columns of a table, the most important first: fields that are neither objects nor
 * lists.
 */
function columnsOf(call: Call) {
	const { properties = {} } = call.item ? resolve(call.item) : {};
	// Members are identified by their users.
	const own = properties.user && properties.level ? "user.uuid" : "id";
	const found = Object.entries(properties).flatMap(([name, schema]) => {
		if (name === "user") return ["user.uuid", "user.email"].map((name) => ({ name, schema }));
		const within = WITHIN[name];
		if (within) return within.map((inner) => ({ name: `${name}.${inner}`, schema: {} }));
		if (name === "created_by") return [{ name: "created_by.email", schema }];
		const isShown = !MINOR.test(name) && !/^(json|strings|integers)$/.test(kindOf(schema));
		return isShown && (name !== "id" || own === "id") ? [{ name, schema }] : [];
	});
	const rank = ({ name, schema }: (typeof found)[number]) => {
		if (name === own && (typesOf(schema)[0] === "integer" || isTaken(call))) return 0;
		if (/^(paused|status|undelivered\.windows|latest_runs\..*)$/.test(name)) return 1;
		if (isId(name, schema)) return 4;
		return LESS.test(name) && !(name === "message" && properties.timestamp) ? 3 : 2;
	};
	return found.sort((a, b) => rank(a) - rank(b)).map(({ name }) => name);
}

const needsKey = ({ operation: { security } }: Call) =>
	security.length > 0 && security.every((way) => "personal_api_key" in way);

function commandOf(call: Call): Command {
	const { operation, method, verb, item, body } = call;
	const query = operation.parameters.filter(
		({ in: place, name }) => place === "query" && name !== "cursor",
	);
	return {
		name: commandName(method),
		method,
		verb,
		summary: operation.summary,
		description: operation.description,
		path: operation.parameters.filter(({ in: place }) => place === "path").map(pathField),
		query: query.map(({ name, schema, description }) => fieldOf(name, schema, description)),
		...(body && { body: bodyFields(call) }),
		...(operation.requestBody?.required && { needsBody: true as const }),
		...(call.receipt && { hasReceipt: true as const }),
		...(!needsKey(call) && { isPublic: true as const }),
		...(item && { columns: columnsOf(call) }),
	};
}

/** The calls with a command of their own. `exports download` reads files. */
const resources = Map.groupBy(
	calls().filter((call) => !isFile(call)),
	({ resource }) => resource,
);

const groups = [...resources].map(([resource, list]): Group => {
	const name = groupName(resource);
	const about = document.tags.find((tag) => tag.name === list[0]?.operation.tags[0]);
	const commands = list.map(commandOf);
	if (new Set(commands.map((command) => command.name)).size < commands.length)
		throw new Error(`Two commands of ${name} have the same name.`);
	return {
		name,
		topic: placeOf(name).topic,
		resource,
		description: about?.description ?? "",
		commands,
	};
});
groups.sort((a, b) => placeOf(a.name).place - placeOf(b.name).place);
if (new Set(groups.map(({ name }) => name)).size < groups.length)
	throw new Error("Two groups of commands have the same name.");

write(
	"packages/cli/src/generated.ts",
	`// Built by build/cli.ts from public/openapi.json. Don't edit it.
import type { Group } from "./table.ts";

/** The commands that call an operation of the API, by group. */
export const GROUPS: Group[] = ${JSON.stringify(groups, null, "\t")};
`,
);
