/** Defines the program with its commands. */
import tab from "@bomb.sh/tab/commander";
import { Argument, Command } from "commander";
import { version } from "../package.json";
import { context, streams } from "./context.ts";
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
		.description("Sends a request with your key and prints the response.")
		.addArgument(
			new Argument("<method>", "The method of the request.").choices([
				...VERBS,
				...VERBS.map((verb) => verb.toLowerCase()),
			]),
		)
		.argument("<path>", "The path, such as /api/projects?limit=5.")
		.option("--data <json>", "the body: JSON, @file, or - for stdin")
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
		.description("The command line of Tenantry.")
		.version(version)
		.option("--profile <name>", "the login to use; by default TENANTRY_PROFILE, or default")
		.hook("preAction", (command) => {
			context().profile = command.opts().profile;
		})
		.addHelpText(
			"after",
			`
Environment:
  TENANTRY_KEY      an API key; overrides the login
  TENANTRY_URL      the URL of the service; overrides the URL of the login
  TENANTRY_PROFILE  the login to use; default by default
  XDG_CONFIG_HOME   the folder of tenantry/default.json; ~/.config by default
  BROWSER           the program that opens the page of login
  NO_COLOR          if set, output has no colours

Exit codes:
  0    success
  1    the service returned an error, a watched export failed, or a login was
       denied or has expired
  2    wrong usage, no login, or an unusable file
  3    no response from the service
  130  interrupted

Examples:
  $ tenantry login
  $ tenantry members list
  $ tenantry invites create --target-email ada@example.org --level admin
  $ tenantry exports run 01a1fee4-ac61-7a85-9f31-6f4a5b7c8d99 --watch
  $ tenantry exports list --columns id,name,undelivered.windows
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
		?.description("Prints a completion script, which completes commands and options in your shell.")
		.summary("Print a completion script for your shell")
		.addHelpText(
			"after",
			`
Examples:
  $ source <(tenantry completion bash)
  $ tenantry completion zsh > "\${fpath[1]}/_tenantry"
  $ tenantry completion fish > ~/.config/fish/completions/tenantry.fish`,
		);
}

/** Returns the full name of a command, such as `tenantry members list`. */
const wordsOf = (command: Command): string =>
	command.parent ? `${wordsOf(command.parent)} ${command.name()}` : command.name();

/** Makes Commander throw errors instead of exiting, and print them like all other errors. */
function configure(command: Command) {
	command.exitOverride().configureOutput({
		writeOut: (text) => streams().stdout.write(text),
		writeErr: (text) => streams().stderr.write(text),
		getOutHelpWidth: () => streams().stdout.columns ?? 80,
		outputError: (text) => print([text.replace(/^error: /, ""), `See: ${wordsOf(command)} --help`]),
	});
	command.commands.forEach(configure);
}
