/** `login`, `logout` and `whoami`. */
import { readFileSync } from "node:fs";
import { type Command, Option } from "commander";
import { TenantryError } from "../../client/src/errors.ts";
import { Tenantry } from "../../client/src/index.ts";
import { authorize } from "./authorize.ts";
import {
	account,
	configPath,
	DEFAULT_URL,
	forget,
	keyOf,
	preparePath,
	type Saved,
	save,
	saved,
	urlOf,
} from "./config.ts";
import { UsageError } from "./failure.ts";
import { locked } from "./lock.ts";
import { revoke, service } from "./oauth.ts";
import { json, jsonOption, record, type Values, write } from "./output.ts";
import { ask, canAsk } from "./prompt.ts";
import { client, optionsFor } from "./session.ts";
import { more } from "./values.ts";

async function askUrl() {
	if (!canAsk()) return DEFAULT_URL;
	return (await ask(`URL of the service [${DEFAULT_URL}]: `)) || DEFAULT_URL;
}

/** Returns the key that the person enters; undefined to log in with OAuth 2.1. */
async function keyIn(options: Values) {
	if (options.keyStdin) return keyOf(readFileSync(0, "utf8"));
	if (!options.key) return undefined;
	if (!canAsk()) throw new UsageError("Without a terminal, pass the key with --key-stdin.");
	return keyOf(await ask("API key (hidden): ", { isSecret: true }));
}

/** Returns the address of the user, if the access includes it. */
async function emailOf({ url, key }: Saved) {
	try {
		return (await new Tenantry(optionsFor(url, key)).users.get({ user: "@me" })).email;
	} catch (error) {
		if (error instanceof TenantryError && error.status === 403) return undefined;
		throw error;
	}
}

/** Ends the access of the login that another one replaces, if that is possible. */
async function endReplaced(before: Saved | undefined) {
	if (before?.tokens) await revoke(before.url, before.tokens).catch(() => undefined);
}

async function login(options: Values) {
	const { TENANTRY_URL } = process.env;
	const given = typeof options.url === "string" ? options.url : TENANTRY_URL;
	const url = urlOf(given || (options.keyStdin ? DEFAULT_URL : await askUrl()));
	service.url = url;
	const key = await keyIn(options);
	const next = key === undefined ? await authorize(url, options) : { url, key };
	const email = await emailOf(next);
	const path = await locked(preparePath(), async () => {
		const before = canRead();
		const path = save(next);
		await endReplaced(before);
		return path;
	});
	const who = email === undefined ? "" : ` as ${email}`;
	await write(
		`Logged in to ${url}${who}. The ${key === undefined ? "login" : "key"} is saved in ${path}.\n`,
	);
}

/** Returns the login of the profile; undefined also if its file is damaged, or others can read it. */
function canRead() {
	try {
		return saved();
	} catch {
		return undefined;
	}
}

const logout = () =>
	locked(preparePath(), async () => {
		const before = canRead();
		if (!forget()) return write("There was no login.\n");
		await write(`Removed ${configPath()}.\n`);
		if (before?.tokens) await revoke(before.url, before.tokens);
	});

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
		.summary("Log in with a browser")
		.description(
			"Opens a page on which you choose what the command line may do, and saves the login in a file that only you can read. Without a browser, shows a code to enter on another device. With a key, saves the key.",
		)
		.option("--url <url>", "the URL of the service")
		.option("--device", "show a code instead of opening a browser")
		.addOption(
			new Option(
				"--scopes <text>",
				"what to ask for, such as project:read; by default, everything that you can do (may be repeated)",
			).argParser(more),
		)
		.addOption(new Option("--key", "ask for an API key").conflicts(["device", "keyStdin"]))
		.addOption(
			new Option(
				"--key-stdin",
				"read an API key from stdin; the URL is localhost without --url and TENANTRY_URL",
			).conflicts("device"),
		)
		.addHelpText(
			"after",
			`
Examples:
  $ tenantry login
  $ tenantry login --url https://tenantry.example.com --device
  $ tenantry login --profile reports --scopes project:read --scopes batch_export:read
  $ tenantry login --url https://tenantry.example.com --key-stdin < key.txt`,
		)
		.action(login);
	program
		.command("logout")
		.summary("Log out")
		.description(
			"Removes the login from this computer, and ends its access. A saved key is removed without revoking it.",
		)
		.addHelpText(
			"after",
			`
Examples:
  $ tenantry logout
  $ tenantry logout --profile reports`,
		)
		.action(logout);
	program
		.command("whoami")
		.summary("Show who is logged in")
		.description("Shows who is logged in, and to which service.")
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
