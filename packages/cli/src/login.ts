/** `login`, `logout` and `whoami`. */
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
import { context, streams } from "./context.ts";
import { UsageError } from "./failure.ts";
import { locked } from "./lock.ts";
import { revoke } from "./oauth.ts";
import { json, jsonOption, record, type Values, write } from "./output.ts";
import { ask, canAsk } from "./prompt.ts";
import { client, optionsFor } from "./session.ts";
import { more } from "./values.ts";

async function askUrl(otherwise: string) {
	if (!canAsk()) {
		streams().stderr.write(`Logging in to ${otherwise}. For another service, pass --url.\n`);
		return otherwise;
	}
	return (await ask(`URL of the service [${otherwise}]: `)) || otherwise;
}

/** Returns the URL to log in to: one that is given, or that of the profile. */
async function urlIn({ url, keyStdin }: Values) {
	const given = typeof url === "string" ? url : context().env.TENANTRY_URL;
	if (given) return urlOf(given);
	const otherwise = canRead()?.url ?? DEFAULT_URL;
	return urlOf(keyStdin ? otherwise : await askUrl(otherwise));
}

/** Returns the key that the person enters; undefined to log in with OAuth 2.1. */
async function keyIn(options: Values) {
	if (options.keyStdin) return keyOf(context().read());
	if (!options.key) return undefined;
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

/** Saves a login, and ends the access of the one before if that is possible. Returns the path. */
const replaceBy = (next: Saved) =>
	locked(preparePath(), async () => {
		const before = canRead({ mayBeShared: true });
		const path = save(next);
		if (before?.tokens) await revoke(before.url, before.tokens).catch(() => undefined);
		return path;
	});

async function login(options: Values) {
	if (options.key && !canAsk())
		throw new UsageError("Without a terminal, pass the key with --key-stdin.");
	const url = await urlIn(options);
	context().service = url;
	const key = await keyIn(options);
	// Nobody is asked for an access that can't be saved.
	preparePath();
	const next = key === undefined ? await authorize(url, options) : { url, key };
	// A key that doesn't work isn't saved. Access always is, so that `logout` can end it.
	const whose = key === undefined ? emailOf(next).catch(() => undefined) : await emailOf(next);
	const path = await replaceBy(next);
	const email = await whose;
	const who = email === undefined ? "" : ` as ${email}`;
	await write(
		`Logged in to ${url}${who}. The ${key === undefined ? "login" : "key"} is saved in ${path}.\n`,
	);
}

/** Like `saved`. Returns undefined if the file is damaged, or if it is shared and must not be. */
function canRead(options: { mayBeShared?: boolean } = {}) {
	try {
		return saved(options);
	} catch {
		return undefined;
	}
}

const logout = () =>
	locked(preparePath(), async () => {
		const before = canRead({ mayBeShared: true });
		// If this fails, the file is kept: without it, only the page Account could end the access.
		if (before?.tokens) await revoke(before.url, before.tokens);
		const ended = before?.tokens ? "Ended the access, and removed" : "Removed";
		await write(forget() ? `${ended} ${configPath()}.\n` : "There was no login.\n");
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
		.helpGroup("Logging in:")
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
				"read an API key from stdin; without --url and TENANTRY_URL, the URL is that of the profile, or localhost",
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
		.helpGroup("Logging in:")
		.summary("Log out")
		.description(
			"Ends the access of the login, and removes it from this computer. A saved key is removed without revoking it.",
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
		.helpGroup("Logging in:")
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
