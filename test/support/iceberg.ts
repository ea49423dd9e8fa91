/**
 * Apache Iceberg's own REST catalog on loopback, and readers of its tables. The server in front of it
 * adds what its catalog lacks: it rejects requests without credentials.
 */
import { execFile } from "node:child_process";
import { mkdirSync } from "node:fs";
import http, { type IncomingMessage, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { promisify } from "node:util";
import { isSigned } from "./aws_signature.ts";
import { KEYS } from "./bucket.ts";
import { cached } from "./cache.ts";
import { proxyOf } from "./faults.ts";
import { findProgram, NotInstalled, onDemand, startServer } from "./peers.ts";
import { pythonWith } from "./python.ts";
import { serve } from "./registry.ts";

/** The credentials that the catalog accepts. */
export const TOKEN = "token-of-nobody";
export const CLIENT = { client_id: "client-of-nobody", client_secret: "client-secret-of-nobody" };

/** The columns of a table of events, with their types. */
export const EVENT_COLUMNS = {
	uuid: "string",
	event: "string",
	distinct_id: "string",
	person_id: "string",
	properties: "string",
	person_properties: "string",
	elements_chain: "string",
	timestamp: "timestamptz",
	created_at: "timestamptz",
	_inserted_at: "timestamptz",
	team_id: "long",
};

/** The namespace of the tests. */
export const NAMESPACE = "exports";

const execute = promisify(execFile);

const SOURCES = `${import.meta.dirname}/iceberg`;

/** The Maven plugin that downloads artifacts and what they depend on. */
const COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies";

const PYTHON = [
	"pyiceberg==0.12.0",
	"pyiceberg-core==0.11.0",
	"duckdb==1.4.4",
	...["iceberg", "httpfs", "avro"].map((name) => `duckdb-ext-${name}==1.4.4.20260205`),
];

/** Pinned, since pyiceberg doesn't pin their versions. */
const DEPENDENCIES = ["pyarrow==26.0.1", "s3fs==2026.9.0"];

/**
 * Installs the libraries of the catalog from Maven Central, once for each user.
 * @returns their folder
 * @throws `NotInstalled` without Java, Maven or a repository
 */
async function install() {
	if (!findProgram("javac")) throw new NotInstalled("Iceberg's catalog needs a JDK");
	return cached(
		"iceberg-1.10.0",
		"Iceberg's catalog can't be installed with Maven",
		async (draft) => {
			mkdirSync(draft);
			await execute("mvn", [
				...["--batch-mode", "--quiet", "--file", `${SOURCES}/pom.xml`, COPY],
				`-DoutputDirectory=${draft}`,
			]);
		},
	);
}

const send = (method: string, url: string, body?: object) =>
	fetch(url, {
		method,
		headers: { "content-type": "application/json" },
		...(body && { body: JSON.stringify(body) }),
	});

async function startCatalog(s3: string) {
	const libraries = await install();
	const keys = [KEYS.aws_access_key_id, KEYS.aws_secret_access_key];
	const port = await startServer(
		"iceberg",
		async (port, folder) => {
			const classpath = `${folder}:${libraries}/*`;
			await execute("javac", ["-d", folder, "-cp", classpath, `${SOURCES}/Catalog.java`]);
			return [
				...["java", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", classpath],
				...["org.apache.iceberg.rest.Catalog", String(port), s3, ...keys],
			];
		},
		{
			isReady: (port) =>
				fetch(`http://127.0.0.1:${port}/v1/config`).then(
					({ ok }) => ok,
					() => false,
				),
		},
	);
	await send("POST", `http://127.0.0.1:${port}/v1/namespaces`, { namespace: [NAMESPACE] });
	return port;
}

const refuse = (response: ServerResponse, code: number, type: string, message: string) =>
	response
		.writeHead(code, { "content-type": "application/json" })
		.end(JSON.stringify({ error: { message, type, code } }));

/** The tokens that were issued, and how often each may still be used. */
const issued = new Map<string, number>();

function issueToken(body: Buffer, response: ServerResponse): unknown {
	const form = new URLSearchParams(body.toString());
	const isKnown =
		form.get("grant_type") === "client_credentials" &&
		form.get("client_id") === CLIENT.client_id &&
		form.get("client_secret") === CLIENT.client_secret;
	response.setHeader("content-type", "application/json");
	if (!isKnown)
		return response.writeHead(401).end(
			JSON.stringify({
				error: "invalid_client",
				error_description: `No client ${form.get("client_id")} with ${form.get("client_secret")}`,
			}),
		);
	const access_token = `issued-${crypto.randomUUID()}`;
	// Every token expires after a few requests.
	issued.set(access_token, 3);
	return response.end(JSON.stringify({ access_token, token_type: "bearer", expires_in: 3600 }));
}

function forward(port: number, { method, url, headers }: IncomingMessage, body: Buffer) {
	return new Promise<IncomingMessage>((resolve, reject) => {
		const path = url?.replace(/^\/readers/, "");
		const options = { port, host: "127.0.0.1", method, path, agent: false };
		http
			.request({ ...options, headers: { ...headers, connection: "close" } })
			.once("response", resolve)
			.once("error", reject)
			.end(body);
	});
}

/**
 * Starts the catalog, at `ICEBERG_URL`, and the readers, at `/readers` below it. Without Java, Maven
 * or Python, they respond with `NOT_INSTALLED`. `ICEBERG_FAULTS_URL` is a proxy in front of it.
 * @param s3 the S3 server with the bucket of the tables
 */
export async function icebergs(s3: string) {
	const catalog = await onDemand("Iceberg's catalog", () => startCatalog(s3));
	const readers = await onDemand("Readers of Iceberg", async () => {
		const python = await pythonWith(PYTHON, DEPENDENCIES);
		return startServer("iceberg-readers", (port) => [
			...[python, `${SOURCES}/readers.py`, String(port), `http://127.0.0.1:${catalog}`, s3],
			...[KEYS.aws_access_key_id, KEYS.aws_secret_access_key],
		]);
	});

	async function isAllowed(request: IncomingMessage, body: Buffer, response: ServerResponse) {
		const { authorization = "" } = request.headers;
		const token = /^Bearer (.+)$/.exec(authorization)?.[1] ?? "";
		if (token === TOKEN) return true;
		const uses = issued.get(token);
		if (uses !== undefined) {
			issued.set(token, uses - 1);
			if (uses > 0) return true;
			refuse(response, 419, "AuthenticationTimeoutException", `The token ${token} has expired`);
			return false;
		}
		const { method = "", headers, url } = request;
		const header = (name: string) => headers[name]?.toString();
		const signed = {
			method,
			url: `http://${headers.host}${url}`,
			header,
			body: new Uint8Array(body),
		};
		if (await isSigned(signed)) return true;
		refuse(response, 401, "NotAuthorizedException", `Not authorized: ${authorization}`);
		return false;
	}

	async function answer(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
		const body = await buffer(request);
		const { url = "" } = request;
		if (url === "/v1/oauth/tokens") return issueToken(body, response);
		const isReader = url.startsWith("/readers");
		if (!isReader && !(await isAllowed(request, body, response))) return undefined;
		const upstream = await forward(isReader ? readers : catalog, request, body);
		response.writeHead(upstream.statusCode ?? 500, upstream.headers);
		return response.end(await buffer(upstream));
	}

	const ICEBERG_URL = await serve((request, response) => {
		answer(request, response).catch(() => response.destroy());
	});
	return { ICEBERG_URL, ICEBERG_FAULTS_URL: await proxyOf(ICEBERG_URL) };
}
