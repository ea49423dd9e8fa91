import { execFileSync, spawn } from "node:child_process";
import {
	chownSync,
	existsSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	writeFileSync,
} from "node:fs";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import { freePort } from "./server.ts";

/** Of every user of the servers. */
export const PASSWORD = "pässword-of-nobody";

/** A user that the servers refuse without TLS. */
export const TLS_ONLY = "tls_only";

/** Where the programs of a PostgreSQL are on this machine, if it has one. */
function programs() {
	const debian = "/usr/lib/postgresql";
	const versions = existsSync(debian) ? readdirSync(debian) : [];
	return [
		...versions.map((version) => `${debian}/${version}/bin`),
		...(process.env.PATH ?? "").split(":"),
	].find((path) => existsSync(`${path}/initdb`));
}

/** `postgres` won't run as root. */
const unprivileged =
	process.getuid?.() === 0
		? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
		: [];

/** Makes a cluster in the folder, with a certificate that nobody vouches for. */
function prepare(bin: string, folder: string) {
	writeFileSync(`${folder}/password`, PASSWORD, { mode: 0o644 });
	const run = (line: string) => {
		const [command = "", ...words] = [...unprivileged, ...line.split(" ")];
		execFileSync(command, words, { cwd: folder, stdio: "ignore" });
	};
	run(
		`${bin}/initdb --pgdata=plain --no-sync --encoding=UTF8 --no-locale --username=owner --auth=scram-sha-256 --pwfile=password`,
	);
	const rules = readFileSync(`${folder}/plain/pg_hba.conf`, "utf8");
	writeFileSync(
		`${folder}/plain/pg_hba.conf`,
		`hostnossl all ${TLS_ONLY} all reject\n${rules}`,
	);
	run(
		"openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 -keyout key.pem -out cert.pem",
	);
}

/** Until somebody listens there. */
async function listens(port: number) {
	for (let i = 0; i < 200; i++) {
		const heard = await new Promise<boolean>((resolve) => {
			const socket = createConnection(port, "127.0.0.1", () => {
				socket.destroy();
				resolve(true);
			});
			socket.once("error", () => resolve(false));
		});
		if (heard) return;
		await new Promise((later) => setTimeout(later, 50));
	}
}

/**
 * Two PostgreSQL servers: one without TLS, one that offers it with a certificate that nobody vouches for. Where the
 * programs are not installed, both ports are ''.
 */
export async function databases() {
	const bin = programs();
	if (!bin) return { POSTGRES_PORT: "", POSTGRES_TLS_PORT: "" };
	const folder = mkdtempSync(`${tmpdir()}/tenantry-postgres-`);
	if (unprivileged.length > 0) chownSync(folder, 65534, 65534);
	prepare(bin, folder);
	const ports = await Promise.all([freePort(), freePort()]);
	const [plain, tls] = ports;
	const options =
		"-c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off -c shared_buffers=32MB";
	const start = (data: string, port: number, more: string) => {
		const line = `${bin}/postgres -D ${data} -p ${port} ${options} ${more}`;
		const [command = "", ...words] = [
			...unprivileged,
			...line.trim().split(" "),
		];
		const server = spawn(command, words, { cwd: folder, stdio: "ignore" });
		server.unref();
		process.on("exit", () => server.kill("SIGQUIT"));
	};
	execFileSync("cp", ["-a", `${folder}/plain`, `${folder}/tls`]);
	start("plain", plain, "");
	start(
		"tls",
		tls,
		`-c ssl=on -c ssl_cert_file=${folder}/cert.pem -c ssl_key_file=${folder}/key.pem`,
	);
	await Promise.all(ports.map(listens));
	return { POSTGRES_PORT: String(plain), POSTGRES_TLS_PORT: String(tls) };
}
