/** Keycloak on loopback, whose realms tests set up as its admins do. */
import { execFile } from "node:child_process";
import { mkdirSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { cached } from "./cache.ts";
import { findProgram, NotInstalled, startServer } from "./peers.ts";

const VERSION = "26.0.7";
const DISTRIBUTION = `org.keycloak:keycloak-quarkus-dist:${VERSION}:zip`;
/** The Maven plugin that downloads an artifact and unpacks it. */
const UNPACK = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:unpack";

/** Starts in half the time, and with less memory than by default. */
const JAVA_OPTS = "-Xms64m -Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1";

export const ADMIN = { username: "admin", password: "password-of-nobody" };

const execute = promisify(execFile);

/**
 * Installs Keycloak from Maven Central, once for each user.
 * @returns the path of its command
 * @throws `NotInstalled` without Java, Maven or a repository
 */
async function install() {
	if (!findProgram("java")) throw new NotInstalled("Keycloak needs Java");
	const reason = "Keycloak can't be installed with Maven";
	const folder = await cached(`keycloak-${VERSION}`, reason, async (draft) => {
		mkdirSync(draft);
		await execute(
			"mvn",
			["--batch-mode", "--quiet", UNPACK, `-Dartifact=${DISTRIBUTION}`, "-DoutputDirectory=."],
			// It unpacks nothing twice into the same folder, and notes there what it has unpacked.
			{ cwd: draft },
		);
		// What Keycloak otherwise does at each start.
		await execute("sh", [commandIn(draft), "build", "--db=dev-file"], {
			env: { ...process.env, JAVA_OPTS },
		});
	});
	return commandIn(folder);
}

const commandIn = (folder: string) => `${folder}/keycloak-${VERSION}/bin/kc.sh`;

/** Why Keycloak can't be installed on this machine, for the names of skipped tests; "" if it is. */
export const missingKeycloak = () =>
	install().then(
		() => "",
		(error: unknown) => {
			if (error instanceof NotInstalled) return ` (skipped: ${error.message})`;
			throw error;
		},
	);

const responds = (url: string) =>
	fetch(url).then(
		({ ok }) => ok,
		() => false,
	);

// biome-ignore lint/suspicious/noExplicitAny: each test knows the form of the body
type Json = any;

/** Starts Keycloak. It ends with this process. */
export async function startKeycloak() {
	const command = await install();
	const ending = new AbortController();
	const port = await startServer(
		"keycloak",
		(port, folder) => [
			...["env", `JAVA_OPTS=${JAVA_OPTS} -Djava.io.tmpdir=${folder}`],
			`KC_BOOTSTRAP_ADMIN_USERNAME=${ADMIN.username}`,
			`KC_BOOTSTRAP_ADMIN_PASSWORD=${ADMIN.password}`,
			...["sh", command, "start", "--optimized", "--cache=local"],
			...["--http-enabled=true", "--http-host=127.0.0.1", `--http-port=${port}`],
			"--hostname-strict=false",
			// VALUE is the name of a column.
			`--db-url=jdbc:h2:file:${folder}/keycloak;NON_KEYWORDS=VALUE`,
		],
		{ isReady: (port) => responds(`http://127.0.0.1:${port}/realms/master`), until: ending.signal },
	);
	const url = `http://127.0.0.1:${port}`;
	const admin = adminOf(url);
	return {
		url,
		admin,
		async stop() {
			ending.abort();
			while (await responds(`${url}/realms/master`)) await sleep(50);
		},
	};
}

export type Keycloak = Awaited<ReturnType<typeof startKeycloak>>;

/**
 * Returns a function that sends requests to Keycloak's admin API. It returns the body of the
 * response, or the `id` of what was created.
 */
function adminOf(url: string) {
	let token: Promise<string> | undefined;
	async function signIn(): Promise<string> {
		const response = await fetch(`${url}/realms/master/protocol/openid-connect/token`, {
			method: "POST",
			body: new URLSearchParams({ ...ADMIN, grant_type: "password", client_id: "admin-cli" }),
		});
		return ((await response.json()) as Json).access_token;
	}
	return async function admin(method: string, path: string, body?: Json): Promise<Json> {
		token ??= signIn();
		const send = async () =>
			fetch(`${url}/admin/realms${path}`, {
				method,
				headers: {
					authorization: `Bearer ${await token}`,
					...(body !== undefined && { "content-type": "application/json" }),
				},
				...(body !== undefined && { body: JSON.stringify(body) }),
			});
		let response = await send();
		if (response.status === 401) {
			// A token lasts a minute.
			token = signIn();
			response = await send();
		}
		const text = await response.text();
		if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
		if (text) return JSON.parse(text);
		return { id: response.headers.get("location")?.split("/").at(-1) };
	};
}
