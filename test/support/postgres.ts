import { execFile } from "node:child_process";
import { chownSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { findProgram, onDemand, startServer } from "./peers.ts";

/** The password of every user of the servers. */
export const PASSWORD = "pässword-of-nobody";

/** A user whom the servers reject without TLS. */
export const TLS_ONLY = "tls_only";

const execute = promisify(execFile);

/** Returns the folder of PostgreSQL's programs; undefined if it isn't installed. */
function programs() {
	const debian = "/usr/lib/postgresql";
	const versions = existsSync(debian) ? readdirSync(debian) : [];
	const initdb = [
		...versions.map((version) => `${debian}/${version}/bin/initdb`),
		findProgram("initdb") ?? "",
	].find((path) => existsSync(path));
	return initdb && dirname(initdb);
}

/** The user that runs `postgres`, which rejects root. */
const NOBODY = 65534;
const unprivileged =
	process.getuid?.() === 0
		? ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"]
		: [];

/** Creates a cluster in the folder, with a self-signed certificate. */
async function prepare(bin: string, folder: string) {
	if (unprivileged.length > 0) chownSync(folder, NOBODY, NOBODY);
	writeFileSync(`${folder}/password`, PASSWORD, { mode: 0o644 });
	const run = (line: string) => {
		const [command = "", ...words] = [...unprivileged, ...line.split(" ")];
		return execute(command, words, { cwd: folder });
	};
	await run(
		`${bin}/initdb --pgdata=data --no-sync --encoding=UTF8 --no-locale --username=owner --auth=scram-sha-256 --pwfile=password`,
	);
	const rules = readFileSync(`${folder}/data/pg_hba.conf`, "utf8");
	writeFileSync(`${folder}/data/pg_hba.conf`, `hostnossl all ${TLS_ONLY} all reject\n${rules}`);
	await run(
		"openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 -keyout key.pem -out cert.pem",
	);
}

/** Starts a PostgreSQL with additional options. */
const start = (bin: string, more: string[]) => () => {
	const isReady = (port: number) =>
		execute(`${bin}/pg_isready`, ["--host=127.0.0.1", `--port=${port}`]).then(
			() => true,
			() => false,
		);
	return startServer(
		"postgres",
		async (port, folder) => {
			await prepare(bin, folder);
			const options = [
				`port=${port}`,
				"listen_addresses=127.0.0.1",
				"unix_socket_directories=",
				"fsync=off",
				"shared_buffers=32MB",
				`ssl_cert_file=${folder}/cert.pem`,
				`ssl_key_file=${folder}/key.pem`,
				...more,
			];
			return [
				...unprivileged,
				...[`${bin}/postgres`, "-D", `${folder}/data`],
				...options.flatMap((option) => ["-c", option]),
			];
		},
		{ signal: "QUIT", isReady },
	);
};

/**
 * Starts two PostgreSQL servers: one without TLS, and one that offers TLS with a self-signed
 * certificate. If PostgreSQL isn't installed, both ports are "".
 */
export async function databases() {
	const bin = programs();
	if (!bin) return { POSTGRES_PORT: "", POSTGRES_TLS_PORT: "" };
	const [plain, tls] = await Promise.all([
		onDemand("PostgreSQL", start(bin, [])),
		onDemand("PostgreSQL with TLS", start(bin, ["ssl=on"])),
	]);
	return { POSTGRES_PORT: String(plain), POSTGRES_TLS_PORT: String(tls) };
}
