/** The commands. */
import tab from "@bomb.sh/tab/commander";
import { Argument, Command } from "commander";
import { version } from "../package.json";
import { print } from "./failure.ts";
import { addLogin } from "./login.ts";
import { addOperations } from "./operations.ts";
import { json, write } from "./output.ts";
import { transport } from "./session.ts";
import { dataOf } from "./values.ts";

const VERBS = ["GET", "POST", "PATCH", "DELETE"];

async function api(verb: string, path: string, options: { data?: string }) {
	const body = dataOf(options.data);
	const request = { call: "api", verb: verb.toUpperCase(), route: path, path, body };
	const isRepeatable = true;
	const { value } = await transport().send({ ...request, isRepeatable });
	if (value === undefined) return;
	await (typeof value === "string" ? write(value) : json(value));
}

function addApi(program: Command) {
	program
		.command("api")
		.summary("Send any request")
		.description("Sends a request with your key, and prints the response as JSON.")
		.addArgument(
			new Argument("<method>", "The request's method.").choices([
				...VERBS,
				...VERBS.map((verb) => verb.toLowerCase()),
			]),
		)
		.argument("<path>", "The path, such as /api/projects?limit=5.")
		.option("--data <json>", "the body: JSON, @ and a file's path, or - for stdin")
		.addHelpText(
			"after",
			`
Examples:
  $ tenantry api GET '/api/projects?limit=5'
  $ tenantry api POST /api/projects --data '{"name": "Website"}'`,
		)
		.action(api);
}

export function programOf() {
	const program = new Command("tenantry")
		.description("Tenantry's API on the command line.")
		.version(version)
		.addHelpText(
			"after",
			`
Environment:
  TENANTRY_KEY     the API key; used instead of the saved one
  TENANTRY_URL     the service's URL; used instead of the saved one
  XDG_CONFIG_HOME  the folder of tenantry/config.json; ~/.config by default
  NO_COLOR         set it to get no colours

Exit codes:
  0    done
  1    refused by the service, or an export failed
  2    wrong usage, or no key
  3    no answer from the service
  130  interrupted

Examples:
  $ tenantry login
  $ tenantry members list
  $ tenantry invites create --target-email ada@example.org
  $ tenantry exports run 01a1fee4-ac61-7a85-9f31-6f4a5b7c8d99 --watch
  $ tenantry projects list --all --json | jq -r .name`,
		);
	addLogin(program);
	addOperations(program);
	addApi(program);
	addCompletion(program);
	configure(program);
	return program;
}

function addCompletion(program: Command) {
	tab(program, { completionCommandName: "completion" });
	program.commands
		.find((command) => command.name() === "completion")
		?.description("Prints a script that completes commands and options in your shell.")
		.summary("Print a script for your shell's completion")
		.addHelpText(
			"after",
			`
Examples:
  $ source <(tenantry completion bash)
  $ tenantry completion zsh > "\${fpath[1]}/_tenantry"
  $ tenantry completion fish > ~/.config/fish/completions/tenantry.fish`,
		);
}

/** The words that call a command. */
const wordsOf = (command: Command): string =>
	command.parent ? `${wordsOf(command.parent)} ${command.name()}` : command.name();

/** Lets errors be thrown, and prints them like all others. */
function configure(command: Command) {
	command.exitOverride().configureOutput({
		outputError: (text) => print([text.replace(/^error: /, ""), `See: ${wordsOf(command)} --help`]),
	});
	command.commands.forEach(configure);
}
