/**
 * Starts the servers that tests use, on the first connection to each. They stop when the tests end.
 */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync } from "node:fs";
import { connect, createServer, type Server, Socket } from "node:net";
import { tmpdir } from "node:os";
import { pipeline } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { HANG_MS } from "./hang.ts";
import { NOT_INSTALLED } from "./missing.ts";

/** A server is started again on another port if its port was taken in the meantime. */
const MAX_STARTS = 3;

/** A range below the ephemeral ports, which Linux uses for outgoing connections. */
const FIRST_PORT = 10_000;
const LAST_PORT = 32_000;

/** Listens on a free port of 127.0.0.1 without keeping this process alive. */
export const listen = (server: Server) =>
	new Promise<number>((resolve, reject) => {
		server.once("error", reject);
		server.on("connection", (socket: Socket) => {
			socket.unref();
			// Without a listener, a broken connection would end the tests.
			socket.on("error", () => {});
		});
		server.listen(0, "127.0.0.1", () => {
			const address = server.address();
			server.unref();
			if (typeof address === "object" && address) resolve(address.port);
			else reject(new Error("The server has no port."));
		});
	});

/**
 * Returns the path of a program; undefined if it isn't installed. Debian installs servers in
 * /usr/sbin, which may not be in PATH.
 */
export const findProgram = (program: string) =>
	`${process.env.PATH}:/usr/sbin`
		.split(":")
		.map((folder) => `${folder}/${program}`)
		.find((path) => existsSync(path));

/** Returns a port that is currently free, and that no outgoing connection will use. */
export async function freePort(): Promise<number> {
	const port = FIRST_PORT + Math.floor(Math.random() * (LAST_PORT - FIRST_PORT));
	const free = await new Promise<boolean>((resolve) => {
		const probe = createServer();
		probe.once("error", () => resolve(false));
		probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)));
	});
	return free ? port : freePort();
}

/** Thrown by the start of a server whose program can't be installed on this machine. */
export class NotInstalled extends Error {}

/**
 * Listens immediately, but starts the server only on the first connection. If it can't start, the
 * reason is printed and every connection is closed. If its program can't be installed, each HTTP
 * request gets the status `NOT_INSTALLED` and the reason.
 * @param start starts the server and returns its port on 127.0.0.1
 * @returns the port to connect to
 */
export function onDemand(name: string, start: () => Promise<number>) {
	let port: Promise<number> | undefined;
	const server = createServer({ allowHalfOpen: true }, async (socket) => {
		port ??= start().catch((error: unknown) => {
			if (!(error instanceof NotInstalled)) console.error(`${name} didn't start.`, error);
			throw error;
		});
		try {
			forward(socket, await port);
		} catch (error) {
			if (error instanceof NotInstalled) refuse(socket, error.message);
			else socket.destroy();
		}
	});
	return listen(server);
}

function refuse(socket: Socket, reason: string) {
	const length = Buffer.byteLength(reason);
	socket.resume();
	socket.end(
		`HTTP/1.1 ${NOT_INSTALLED} Not Installed\r\ncontent-length: ${length}\r\nconnection: close\r\n\r\n${reason}`,
	);
}

function forward(socket: Socket, port: number) {
	const upstream = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
	upstream.unref();
	pipeline(socket, upstream, socket, () => {
		socket.destroy();
		upstream.destroy();
	});
}

/**
 * Runs a program. Sends it the signal $2 when standard input closes, which happens even if the
 * parent is ended by SIGKILL. Then removes the folder $1.
 */
const WATCH = `
exec 3<&0
folder=$1 signal=$2
shift 2
"$@" </dev/null 3<&- & program=$!
{ read -r _; kill -s "$signal" $program; } <&3 & watcher=$!
wait $program
kill $watcher
rm -rf -- "$folder"`;

/**
 * Returns the command of a server that listens on the port. It can write to the folder, which is
 * also its folder for temporary files. The folder is removed afterwards.
 */
type Command = (port: number, folder: string) => string[] | Promise<string[]>;

type Options = {
	signal?: string;
	isReady?: (port: number) => Promise<boolean>;
	until?: AbortSignal;
};

/**
 * Starts a server that ends with this process, and waits until it is ready.
 * @param signal the signal that stops it
 * @param isReady called until it returns true; by default, whether the port accepts connections
 * @param until stops the server before this process ends
 * @returns its port on 127.0.0.1
 */
export async function startServer(
	name: string,
	command: Command,
	{ signal = "KILL", isReady = accepts, until }: Options = {},
): Promise<number> {
	const deadline = performance.now() + HANG_MS;
	for (let starts = 0; starts < MAX_STARTS; starts++) {
		const port = await freePort();
		const folder = mkdtempSync(`${tmpdir()}/tenantry-${name}-`);
		const words = await command(port, folder);
		const child = spawn(
			"sh",
			["-c", WATCH, "sh", folder, signal, ...words],
			// In a separate process group, so that Ctrl-C reaches only this process.
			{
				cwd: folder,
				env: { ...process.env, TMPDIR: folder },
				detached: true,
				stdio: ["pipe", "ignore", "ignore"],
			},
		);
		child.unref();
		if (child.stdin instanceof Socket) child.stdin.unref();
		until?.addEventListener("abort", () => child.stdin?.end());
		while (child.exitCode === null) {
			if (await isReady(port)) return port;
			if (performance.now() > deadline) throw new Error(`${name} isn't ready.`);
			await sleep(20);
		}
	}
	throw new Error(`${name} ended ${MAX_STARTS} times before it was ready.`);
}

const accepts = (port: number) =>
	new Promise<boolean>((resolve) => {
		const socket = connect(port, "127.0.0.1", () => {
			socket.destroy();
			resolve(true);
		});
		socket.once("error", () => resolve(false));
	});
