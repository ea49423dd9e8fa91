import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { python, pythonWith, STANDARD_WEBHOOKS } from "./python.ts";
import { serve } from "./registry.ts";

/** A request to the receiver. */
export type Received = {
	method: string;
	url: string;
	headers: Record<string, string>;
	text: string;
};

async function bodyOf(request: IncomingMessage) {
	const chunks: Uint8Array[] = [];
	for await (const chunk of request) chunks.push(chunk);
	return Buffer.concat(chunks);
}

/**
 * Returns the credentials of a request in the encodings in which servers repeat them: plain, JSON,
 * URL, HTML, Base64.
 */
function echo(authorization: string) {
	const token = authorization
		.replace("Bearer ", "")
		.replace(/^Basic (.*)/, (_, basic) => Buffer.from(basic, "base64").toString());
	const base64 = (text: string) => Buffer.from(text).toString("base64");
	return [
		token,
		JSON.stringify({ token }),
		encodeURIComponent(token),
		new URLSearchParams({ token }).toString(),
		token.replaceAll("&", "&amp;").replaceAll('"', "&quot;"),
		base64(token),
		Buffer.from(token).toString("base64url"),
		...["", "a", "ab", "abc"].map((before) => base64(`${before}${token}z`)),
	].join("\n");
}

/**
 * Returns DuckDB's result for SQL in which PATH is the path of the file, and FILE reads it as
 * Parquet.
 */
async function duckdb(file: Uint8Array, sql: string) {
	const { DuckDBInstance } = await import("@duckdb/node-api");
	const folder = mkdtempSync(`${tmpdir()}/tenantry-duckdb-`);
	const path = `${folder}/file`;
	writeFileSync(path, file);
	const instance = await DuckDBInstance.create(":memory:");
	const connection = await instance.connect();
	const reader = await connection.runAndReadAll(
		sql.replaceAll("FILE", "read_parquet(PATH)").replaceAll("PATH", `'${path}'`),
	);
	const rows = reader.getRowObjectsJson();
	connection.closeSync();
	instance.closeSync();
	rmSync(folder, { recursive: true });
	return rows;
}

/**
 * Returns what pyarrow, polars and fastparquet read in a Parquet file (parquet.py), as JSON; null if they can't
 * be installed.
 */
async function parquetReaders(file: Uint8Array) {
	const interpreter = await python();
	if (!interpreter) return "null";
	const folder = mkdtempSync(`${tmpdir()}/tenantry-parquet-`);
	const path = `${folder}/file`;
	writeFileSync(path, file);
	const script = `${import.meta.dirname}/parquet.py`;
	const { stdout } = await promisify(execFile)(interpreter, [script, path], {
		maxBuffer: 2 ** 28,
	});
	rmSync(folder, { recursive: true });
	return stdout;
}

/** Returns the ten lines of Python in docs/audit.md. */
const pythonVerifier = () =>
	/```python\n([^`]+)```/.exec(
		readFileSync(`${import.meta.dirname}/../../docs/audit.md`, "utf8"),
	)?.[1] ?? "";

type Result = { code: number | string; out: string; err: string };

/** Whether the program isn't installed. */
const isMissing = ({ code }: Result) => code === "ENOENT";

const runProgram = (program: string, words: string[]): Promise<Result> =>
	promisify(execFile)(program, words).then(
		({ stdout: out, stderr: err }) => ({ code: 0, out, err }),
		({ code = -1, stdout: out = "", stderr: err = "" }) => ({ code, out, err }),
	);

/**
 * Returns the results of `npm run admin -- audit verify` and of the Python in the documentation for
 * files. `python` is null if there is none.
 * @param body JSON: the files with their bytes in base64, and the command's other arguments
 */
async function audit(body: string) {
	const { files, words }: { files: { key: string; bytes: string }[]; words: string[] } =
		JSON.parse(body);
	const folder = mkdtempSync(`${tmpdir()}/tenantry-audit-`);
	for (const { key, bytes } of files) {
		mkdirSync(dirname(`${folder}/${key}`), { recursive: true });
		writeFileSync(`${folder}/${key}`, Buffer.from(bytes, "base64"));
	}
	const admin = `${import.meta.dirname}/../../scripts/admin.ts`;
	const [verified, python] = await Promise.all([
		runProgram(process.execPath, [admin, "audit", "verify", folder, "--json", ...words]),
		runProgram("python3", ["-c", pythonVerifier(), folder]),
	]);
	rmSync(folder, { recursive: true });
	return { ...verified, python: isMissing(python) ? null : python };
}

/**
 * Returns the results of the Python library of Standard Webhooks for messages (webhooks.py), as
 * JSON; null if it can't be installed.
 */
async function pythonVerdicts(messages: string) {
	const interpreter = await pythonWith([STANDARD_WEBHOOKS]).catch(() => null);
	if (!interpreter) return "null";
	const script = `${import.meta.dirname}/webhooks.py`;
	const child = execFile(interpreter, [script], { maxBuffer: 2 ** 28 });
	child.stdin?.end(messages);
	const { stdout } = child;
	let text = "";
	for await (const chunk of stdout ?? []) text += chunk;
	return text;
}

/** The size of a response that is larger than any that should be read. */
const HUGE_BYTES = 2 ** 26;

/** Responds in one of the ways of `/plan`. */
function answerAs(way: string, request: IncomingMessage, response: ServerResponse) {
	switch (way) {
		case "hang":
			return;
		case "close":
			return request.socket.destroy();
		case "cut":
			response.writeHead(500, { "content-length": 100 });
			return response.write("cut", () => request.socket.destroy());
		case "drip":
			return response.write("a body that never ends");
		case "huge":
			response.statusCode = 500;
			return response.end(Buffer.alloc(HUGE_BYTES, "x"));
		case "slow":
			return setTimeout(() => response.end(), 300);
		case "redirect":
			return response.writeHead(302, { location: `http://${request.headers.host}/ok/x` }).end();
		default: {
			const [status = "", wait] = way.split("-");
			if (wait) response.setHeader("retry-after", wait);
			response.statusCode = Number(status);
			return response.end(status === "204" ? undefined : `Oops ${status}`);
		}
	}
}

/** The discovery of an issuer, or the keys that were last put. */
const issuerAt = (issuer: string, path: string | undefined, before: Received[]): unknown =>
	path === "jwks"
		? JSON.parse(before.findLast(({ method }) => method === "PUT")?.text ?? "{}")
		: { issuer, jwks_uri: `${issuer}/jwks` };

/**
 * A server that stores the requests to each path. Its response depends on the path:
 * - `/batches/<name>` accepts events, each Idempotency-Key once.
 * - `/status/<n>` responds with that status, `/status/<n>/<value>` also with that Retry-After.
 * - `/body/<n>/<text>` responds with that status and text.
 * - `/echo/<n>` responds with that status and the token in many forms.
 * - `/app/<text>` is the document of an app, with these fields besides its URL.
 * - `/issuers/<name>` is an issuer of tokens: `PUT /issuers/<name>/jwks` sets its keys.
 * - `/hang` never responds, `/close` closes the connection, `/redirect/<n>` redirects.
 * - `/flaky/<name>` fails every other request.
 * - `/duckdb` responds with DuckDB's result for the file in the body and the SQL in a header.
 * - `/parquet` responds with what pyarrow, polars and fastparquet read in the file in the body, or null if they
 *   aren't installed.
 * - `/plan/<ways>/<name>` responds in the first of the ways, then in the second, and so on, and in
 *   the end with a 200. The ways are separated by commas: a status, one with a Retry-After
 *   (`503-60`), `hang`, `close`, `cut`, `drip`, `huge`, `slow`, `redirect`. `*` repeats the way
 *   before it for ever.
 * - `/verify` responds with what Python says of the messages in the body, or null if it isn't
 *   installed.
 * - `/audit` responds with what two verifiers say about the files in the body.
 * - `/unlisted` is a bucket that can't be listed.
 * - `/undeletable` is a bucket whose objects can't be deleted.
 * - `GET /received/<path>` responds with the requests to that path.
 */
export async function receivers() {
	const received = new Map<string, Received[]>();
	const keys = new Map<string, Set<string>>();
	const answer = async (request: IncomingMessage, response: ServerResponse) => {
		const { url = "", method = "", headers } = request;
		const body = await bodyOf(request);
		const { pathname } = new URL(url, "http://receiver");
		const [, kind, name = "", value] = pathname.split("/");
		const say = (value: unknown) => response.end(JSON.stringify(value));
		const fail = (status: number) => {
			response.statusCode = status;
			response.end("<Error><Code>Oops</Code></Error>");
		};
		if (kind === "received") return say(received.get(pathname.slice("/received".length)) ?? []);
		const before = received.get(pathname) ?? [];
		received.set(pathname, [
			...before,
			{
				method,
				url,
				headers: Object.fromEntries(
					Object.entries(headers).map(([key, value]) => [key, String(value)]),
				),
				text: ["audit", "duckdb", "parquet"].includes(kind ?? "") ? "" : body.toString(),
			},
		]);
		switch (kind) {
			case "hang":
				return;
			case "close":
				return request.socket.destroy();
			case "plan": {
				const ways = name.split(",");
				const way = ways.at(-1) === "*" ? (ways[before.length] ?? "*") : ways[before.length];
				if (way) return answerAs(way === "*" ? (ways.at(-2) ?? "") : way, request, response);
				return say({});
			}
			case "verify":
				return response.end(await pythonVerdicts(body.toString()));
			case "status":
				if (value) response.setHeader("retry-after", decodeURIComponent(value));
				return fail(Number(name));
			case "body":
				response.statusCode = Number(name);
				return response.end(Buffer.from(value ?? "", "base64url"));
			case "app": {
				const fields = JSON.parse(Buffer.from(name, "base64url").toString());
				if (fields.padding) fields.padding = "x".repeat(fields.padding);
				return say({ client_id: `http://${headers.host}${url}`, ...fields });
			}
			case "issuers":
				response.setHeader("content-type", "application/json");
				return say(issuerAt(`http://${headers.host}/issuers/${name}`, value, before));
			case "echo":
				response.statusCode = Number(name);
				return response.end(echo(headers.authorization ?? ""));
			case "redirect":
				response.setHeader("location", `http://${headers.host}/batches/x`);
				return fail(Number(name));
			case "region":
				response.setHeader("x-amz-bucket-region", "eu-north-1");
				return fail(Number(name));
			case "batches":
				// S3 sends an ETag. Other paths don't.
				response.setHeader("etag", '"1"');
				break;
			case "unlisted":
				if (method === "GET") return fail(501);
				response.setHeader("etag", '"1"');
				break;
			case "undeletable":
				if (method === "DELETE") return fail(403);
				response.setHeader("etag", '"1"');
				break;
			case "flaky":
				if (before.length % 2 === 0) return fail(503);
				break;
			case "duckdb":
				return say(await duckdb(body, decodeURIComponent(String(headers["x-sql"]))));
			case "audit":
				return say(await audit(body.toString()));
			case "parquet":
				return response.end(await parquetReaders(body));
		}
		const key = headers["idempotency-key"];
		const seen = keys.get(pathname) ?? new Set();
		keys.set(pathname, seen);
		const again = typeof key === "string" && seen.has(key);
		if (typeof key === "string") seen.add(key);
		// A repeated key gets the same response, but its events aren't stored.
		if (again) received.set(pathname, before);
		say({ again });
	};
	const url = await serve((request, response) => {
		answer(request, response).catch((error: unknown) => {
			response.statusCode = 500;
			response.end(String(error));
		});
	});
	return { RECEIVER_URL: url };
}
