/** `login`, `logout` and `whoami`. */
import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { Tenantry } from "../../client/src/index.ts";
import { account, configPath, DEFAULT_URL, forget, keyOf, save, urlOf } from "./config.ts";
import { UsageError } from "./failure.ts";
import { json, jsonOption, record, type Values, write } from "./output.ts";
import { ask, canAsk } from "./prompt.ts";
import { client, optionsFor } from "./session.ts";

const nobody = () =>
	new UsageError("Without a terminal, pass the URL with --url and the key with --key-stdin.");

async function askUrl() {
	if (!canAsk()) return DEFAULT_URL;
	return (await ask(`URL of the service [${DEFAULT_URL}]: `)) || DEFAULT_URL;
}

async function askKey() {
	if (!canAsk()) throw nobody();
	return ask("API key (hidden): ", { isSecret: true });
}

async function login(options: Values) {
	const { TENANTRY_URL } = process.env;
	const given = typeof options.url === "string" ? options.url : TENANTRY_URL;
	const url = urlOf(given || (options.keyStdin ? DEFAULT_URL : await askUrl()));
	const key = keyOf(options.keyStdin ? readFileSync(0, "utf8") : await askKey());
	const tenantry = new Tenantry(optionsFor(url, key));
	const { email } = await tenantry.users.get({ user: "@me" });
	const path = save({ url, key });
	await write(`Logged in to ${url} as ${email}. The key is saved in ${path}.\n`);
}

async function whoami(options: Values) {
	const user = await client().users.get({ user: "@me" });
	if (options.json) return json(user);
	const name = `${user.first_name} ${user.last_name}`.trim();
	return record({
		...(name && { name }),
		email: user.email,
		uuid: user.uuid,
		service: account().url,
	});
}

export function addLogin(program: Command) {
	program
		.command("login")
		.summary("Save a key for later commands")
		.description(
			"Asks for the URL of the service and an API key, checks the key, and saves both in a file that only you can read.",
		)
		.option("--url <url>", "the URL of the service")
		.option(
			"--key-stdin",
			"read the key from stdin; the URL is localhost without --url and TENANTRY_URL",
		)
		.addHelpText(
			"after",
			`
Examples:
  $ tenantry login
  $ tenantry login --url https://tenantry.example.com --key-stdin < key.txt`,
		)
		.action(login);
	program
		.command("logout")
		.summary("Remove the saved key")
		.description("Removes the saved key from this computer, without revoking it.")
		.addHelpText(
			"after",
			`
Examples:
  $ tenantry logout
  $ tenantry keys revoke @current && tenantry logout`,
		)
		.action(() => write(forget() ? `Removed ${configPath()}.\n` : "There was no saved key.\n"));
	program
		.command("whoami")
		.summary("Show whose key is used")
		.description("Shows whose key is used, and with which service.")
		.addOption(jsonOption())
		.addHelpText(
			"after",
			`
Examples:
  $ tenantry whoami
  $ tenantry whoami --json`,
		)
		.action(whoami);
}
