/**
 * `npm run admin`: the operator's command (docs/operating/README.md#the-operators-command). Modules
 * that call the service are imported only after the arguments are checked.
 */
import { type ParseArgsConfig, parseArgs } from "node:util";
import { fail, messageOf } from "../build/run.ts";
import type { Operate } from "./operator.ts";
import { expectOptionsAfterDashes, WRONG_USAGE } from "./usage.ts";

type Options = NonNullable<ParseArgsConfig["options"]>;

type Command = {
	/** The arguments in the usage message. */
	usage: string;
	does: string;
	/** The names of the positional arguments. */
	arguments?: string[];
	options?: Options;
	/** Required options. */
	required?: string[];
	/** Whether the command only reads files and doesn't need the service. */
	isLocal?: true;
};

const text = { type: "string" } as const;
const flag = { type: "boolean" } as const;
const several = { type: "string", multiple: true } as const;

const COMMANDS: Record<string, Command> = {
	bootstrap: {
		usage: "--email EMAIL [--organization NAME]",
		does: "Create a user with an organization, a project and a key. Existing ones are not changed.",
		options: { email: text, organization: text },
		required: ["email"],
	},
	"key create": {
		usage: "--email EMAIL --label LABEL --scopes SCOPE[,SCOPE]… [--expires-at TIME]",
		does: "Create another key for a user. Its value is printed only once. TIME is in ISO 8601, in the future; without it, the key never expires.",
		options: { email: text, label: text, scopes: several, "expires-at": text },
		required: ["email", "label", "scopes"],
	},
	"key revoke": {
		usage: "ID",
		does: "Delete a key. It stops working immediately.",
		arguments: ["id"],
	},
	"user deactivate": {
		usage: "EMAIL",
		does: "Deactivate a user. All their keys stop working immediately.",
		arguments: ["email"],
	},
	"user reset-two-factor": {
		usage: "EMAIL",
		does: "Remove the second factor of a user and its recovery codes, for example if the user has lost it.",
		arguments: ["email"],
	},
	"user unlink": {
		usage: "EMAIL [--connection NAME]",
		does: "Unlink the accounts of a user at providers, for example after they got a new one there. Their sessions that came through these end. NAME is google-oauth2, github, gitlab, or oidc: or saml: with the id of a domain; without it, all are unlinked.",
		arguments: ["email"],
		options: { connection: text },
	},
	"user list": {
		usage: "[--limit N]",
		does: "List the newest users: 100, or the number in --limit.",
		options: { limit: text },
	},
	"domain verify": {
		usage: "DOMAIN",
		does: "Verify a domain without its DNS record, for example in a private network.",
		arguments: ["domain"],
	},
	"domain enforce": {
		usage: "DOMAIN --sso saml|oidc|google-oauth2|github|gitlab",
		does: "Require that everyone with an address of the domain signs in in this way, although no admin has tested it. Ends their other sessions.",
		arguments: ["domain"],
		options: { sso: text },
		required: ["sso"],
	},
	"domain lift-enforcement": {
		usage: "DOMAIN",
		does: "Let people with addresses of the domain sign in in any way again, for example if its provider fails.",
		arguments: ["domain"],
	},
	"organization set": {
		usage: "ID [--plugins-access-level 0|3|6|9] [--feature KEY]… [--customer-id ID]",
		does: "Set the fields of an organization that only the operator can set. --feature replaces all features.",
		arguments: ["id"],
		options: {
			"plugins-access-level": text,
			feature: several,
			"customer-id": text,
		},
	},
	"organization list": {
		usage: "[--limit N]",
		does: "List the newest organizations: 100, or the number in --limit.",
		options: { limit: text },
	},
	"organization export": {
		usage: "ID FILE [--seal-to KEY] [--move]",
		does: "Write everything of an organization to a new SQLite file. Meanwhile it can't be changed; with --move, also afterwards. --seal-to: a file with the public key (JWK) that its secrets are encrypted for; without it, they are left out.",
		arguments: ["id", "file"],
		options: { "seal-to": text, move: flag },
	},
	"organization import": {
		usage: "FILE [--key KEY]",
		does: "Add the organization of a file. Its members get their access when they next sign in. If the command is killed, run it again. --key: a file with the private key (JWK) for its secrets; without it, what needs them is switched off.",
		arguments: ["file"],
		options: { key: text },
	},
	"organization release": {
		usage: "ID",
		does: "Let an organization be changed again that was exported with --move, or whose export was killed.",
		arguments: ["id"],
	},
	"audit verify": {
		usage:
			"FOLDER|s3://BUCKET/PREFIX|r2://BUCKET/PREFIX [--jwks FILE|URL [--witness FILE]… [--receipt FILE]… [--signed-from NUMBER]] [--organization ID] [--head DIGEST] [--after DIGEST]",
		does: "Check the files of audit streams in a folder or a bucket. s3:// takes AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and AWS_ENDPOINT_URL from the environment; r2:// is a bucket of the local state or, with --remote, of the account. --jwks: the service's public keys, to check signatures with. --witness: a file with events or requests to webhooks that have signed heads. --receipt: a file with the receipt of a revocation. --signed-from: the first file that must be signed; 1 by default. --organization: whose files these must be. --head: a digest that the files must contain. --after: the digest before their first line.",
		arguments: ["folder"],
		options: {
			...{ head: text, after: text, organization: text },
			...{ jwks: text, witness: several, receipt: several, "signed-from": text },
		},
		isLocal: true,
	},
};

const COMMON = `Options:
  --json       Print JSON.
  --remote     Call the deployed worker. By default, the command uses the local state in STATE_DIR (.wrangler/state).
  --env NAME   With --remote: call the worker of this environment in wrangler.toml.
  --help       Print this help, or the help for a command.`;

const USAGE = `Usage: npm run admin -- COMMAND [OPTIONS]

Commands:
${Object.entries(COMMANDS)
	.map(([name, { usage, does }]) => `  ${name} ${usage}\n      ${does}`)
	.join("\n")}

${COMMON}`;

function print(text: string): never {
	console.log(text);
	process.exit(0);
}

expectOptionsAfterDashes("npm run admin", ["remote", "env", "json"]);

const words = process.argv.slice(2);
const name =
	[words.slice(0, 2).join(" "), words[0] ?? ""].find((name) => Object.hasOwn(COMMANDS, name)) ?? "";
const command = COMMANDS[name];
if (!command) {
	if (words.includes("--help") || words[0] === "help") print(USAGE);
	if (words.every((word) => word.startsWith("-"))) fail(USAGE, WRONG_USAGE);
	fail(
		`Unknown command: ${words.join(" ")}\n\nTo list the commands: npm run admin -- --help`,
		WRONG_USAGE,
	);
}
const help = `Usage: npm run admin -- ${name} ${command.usage}\n\n${command.does}\n\n${COMMON}`;

const wrongNumber = (expected: number, given: string[]) =>
	expected > 0
		? `Expected ${expected === 1 ? "one argument" : `${expected} arguments`}, got ${given.length}.`
		: `Unexpected argument: ${given[0]}`;

function parse({ options, arguments: names = [], required = [] }: Command) {
	try {
		const { values, positionals } = parseArgs({
			args: words.slice(name.split(" ").length),
			allowPositionals: true,
			options: {
				...options,
				json: { type: "boolean", default: false },
				remote: { type: "boolean", default: false },
				env: { type: "string" },
				help: { type: "boolean", default: false },
			},
		});
		if (values.help) print(help);
		const given = new Map(Object.entries(values));
		for (const option of required)
			if (!given.has(option)) throw new Error(`--${option} is required.`);
		if (values.env !== undefined && !values.remote) throw new Error("--env requires --remote.");
		// Scopes may also be separated by spaces.
		const rest = given.has("scopes") ? [] : positionals;
		if (rest.length !== names.length) throw new Error(wrongNumber(names.length, rest));
		return { given, positionals, ...values };
	} catch (error) {
		return fail(`${messageOf(error)}\n\n${help}`, WRONG_USAGE);
	}
}

const { given, positionals, json, remote, env } = parse(command);

/** The options, with the names that the service expects. Undefined options are not sent. */
const options = {
	email: given.get("email"),
	label: given.get("label"),
	organization: given.get("organization"),
	limit: given.get("limit"),
	scopes: given.has("scopes")
		? [given.get("scopes"), positionals].flat(2).flatMap((list) => String(list).split(","))
		: undefined,
	expires_at: given.get("expires-at"),
	plugins_access_level: given.get("plugins-access-level"),
	features: given.get("feature"),
	customer_id: given.get("customer-id"),
	sso: given.get("sso"),
	connection: given.get("connection"),
	...Object.fromEntries((command.arguments ?? []).map((name, i) => [name, positionals[i]])),
};

function explain(error: unknown) {
	const message = messageOf(error);
	if (/no such table/.test(`${message} ${error instanceof Error && error.cause}`))
		return `The database has no tables. Run ${remote ? "npm run deploy" : "npm run setup"} first.`;
	return message;
}

/** Formats rows as aligned columns with a header. */
function table(rows: Record<string, unknown>[]) {
	const columns = Object.keys(rows[0] ?? {});
	const cells = [columns, ...rows.map((row) => columns.map((column) => String(row[column] ?? "")))];
	const widths = columns.map((_, i) => Math.max(...cells.map((cell) => cell[i]?.length ?? 0)));
	return cells
		.map((cell) =>
			cell
				.map((value, i) => value.padEnd(widths[i] ?? 0))
				.join("  ")
				.trimEnd(),
		)
		.join("\n");
}

const line = ([field, value]: [string, unknown]) =>
	`${field}: ${typeof value === "object" && value !== null ? JSON.stringify(value) : value}`;

/**
 * Checks files of audit streams, prints the result and exits: with 1 if there are problems, and 2
 * for a wrong argument.
 */
async function verifyAudit(folder: string): Promise<never> {
	const one = (name: string) => given.get(name)?.toString();
	const list = (name: string) => [given.get(name) ?? []].flat().map(String);
	const [head, after] = [one("head")?.toLowerCase(), one("after")?.toLowerCase()];
	for (const digest of [head, after])
		if (digest !== undefined && !/^[0-9a-f]{64}$/.test(digest))
			fail(`Not a SHA-256 digest (64 hexadecimal digits): ${digest}`, WRONG_USAGE);
	const [jwks, number] = [one("jwks"), one("signed-from")];
	const [witness, receipt] = [list("witness"), list("receipt")];
	if (!jwks && (number !== undefined || witness.length + receipt.length > 0))
		fail("--witness, --receipt and --signed-from need --jwks.", WRONG_USAGE);
	if (number !== undefined && !/^[1-9]\d{0,9}$/.test(number))
		fail(`Not the number of a file: ${number}`, WRONG_USAGE);
	const { describe, toJson, verify } = await import("./audit.ts");
	const result = await verify(folder, {
		...{ head, after, jwks, witness, receipt },
		organization: one("organization"),
		remote,
		signedFrom: number === undefined ? undefined : Number(number),
	}).catch((error: unknown) => fail(explain(error), WRONG_USAGE));
	console.log(json ? toJson(result) : describe(result));
	process.exit(result.ok ? 0 : 1);
}

if (command.isLocal) await verifyAudit(String(positionals[0]));

/** Runs a command that moves data, or that the service runs. */
async function runCommand(operate: Operate) {
	const { commands } = await import("./takeout/commands.ts");
	const run = commands[name];
	if (!run) return operate(name, options);
	const { Database } = await import("./takeout/database.ts");
	return { result: await run(new Database(operate), positionals, given) };
}

try {
	const { withOperator } = await import("./operator.ts");
	const { WORKER } = await import("./state.ts");
	const service = remote ? (env ? `${WORKER}-${env}` : WORKER) : undefined;
	const outcome = await withOperator(service, runCommand);
	if ("error" in outcome) fail(outcome.error);
	const { results, ...rest } = outcome.result;
	if (json) console.log(JSON.stringify(outcome.result));
	else {
		if (Array.isArray(results)) console.log(table(results));
		console.log(Object.entries(rest).map(line).join("\n"));
	}
} catch (error) {
	fail(explain(error));
}
