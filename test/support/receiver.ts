import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { serve } from "./registry.ts";

/** What the receiver was sent. */
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

/** What DuckDB answers to the SQL, in which FILE is the Parquet file. */
async function duckdb(file: Uint8Array, sql: string) {
	const { DuckDBInstance } = await import("@duckdb/node-api");
	const folder = mkdtempSync(`${tmpdir()}/tenantry-parquet-`);
	const path = `${folder}/file.parquet`;
	writeFileSync(path, file);
	const instance = await DuckDBInstance.create(":memory:");
	const connection = await instance.connect();
	const reader = await connection.runAndReadAll(
		sql.replaceAll("FILE", `read_parquet('${path}')`),
	);
	const rows = reader.getRowObjectsJson();
	connection.closeSync();
	instance.closeSync();
	rmSync(folder, { recursive: true });
	return rows;
}

/**
 * Takes what is posted, by path: `/batches/<name>` takes events, each Idempotency-Key once; `/status/<n>` answers that, and
 * `/status/<n>/<value>` with that as Retry-After;
 * `/body/<n>/<text>` answers that status and text (in base64url);
 * `/hang`, `/close`, `/redirect` and `/flaky/<name>` (every other request fails) do what they say; `/parquet` answers what
 * DuckDB finds in the file by the SQL of a header; `/unlisted` is a bucket that can't be listed. `GET /received/<path>` tells what was sent there.
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
		if (kind === "received")
			return say(received.get(pathname.slice("/received".length)) ?? []);
		const before = received.get(pathname) ?? [];
		received.set(pathname, [
			...before,
			{
				method,
				url,
				headers: Object.fromEntries(
					Object.entries(headers).map(([key, value]) => [key, String(value)]),
				),
				text: kind === "parquet" ? "" : body.toString(),
			},
		]);
		switch (kind) {
			case "hang":
				return;
			case "close":
				return request.socket.destroy();
			case "status":
				if (value) response.setHeader("retry-after", decodeURIComponent(value));
				return fail(Number(name));
			case "body":
				response.statusCode = Number(name);
				return response.end(Buffer.from(value ?? "", "base64url"));
			case "redirect":
				response.setHeader("location", `http://${headers.host}/batches/x`);
				return fail(Number(name));
			case "region":
				response.setHeader("x-amz-bucket-region", "eu-north-1");
				return fail(Number(name));
			case "batches":
				// As S3 does; other paths don't.
				response.setHeader("etag", '"1"');
				break;
			case "unlisted":
				if (method === "GET") return fail(501);
				response.setHeader("etag", '"1"');
				break;
			case "flaky":
				if (before.length % 2 === 0) return fail(503);
				break;
			case "parquet":
				return say(
					await duckdb(body, decodeURIComponent(String(headers["x-sql"]))),
				);
		}
		const key = headers["idempotency-key"];
		const seen = keys.get(pathname) ?? new Set();
		keys.set(pathname, seen);
		const again = typeof key === "string" && seen.has(key);
		if (typeof key === "string") seen.add(key);
		// What came before is answered as before, and not taken.
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
