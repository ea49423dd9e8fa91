import { codeOf, explain, isUnauthenticated, notStored, secretsOf } from "./azure/errors.ts";
import { sharedKey } from "./azure/shared_key.ts";
import { azureEndpoint, type Config } from "./config.ts";
import { type Destination, Misconfigured } from "./destination.ts";
import type { Bucket, Mark } from "./files/bucket.ts";
import type { State } from "./files/uploads.ts";
import { files } from "./files.ts";
import { exchange, send } from "./send.ts";

type Settings = Config<"AzureBlob">;

/** The version of the REST API that the requests are written for. */
const API_VERSION = "2021-12-02";

/** The headers with the mark of a blob. Names of metadata can't have hyphens. */
const EXPORT = "x-ms-meta-tenantryexport";
const UPLOAD = "x-ms-meta-tenantryupload";

const metadata = ({ export_id, upload }: Mark) => ({
	...(export_id && { [EXPORT]: export_id }),
	...(upload && { [UPLOAD]: upload }),
});

export function containerUrl({ container_name, ...config }: Settings) {
	const url = azureEndpoint(config);
	url.pathname = `${url.pathname.replace(/\/$/, "")}/${container_name}`;
	return url;
}

/**
 * The ID of an upload. Blob Storage has no uploads: it stores the blocks that are sent to a blob without showing them. A
 * list of their IDs then makes them the blob's content and sets its type and metadata, so the ID has to contain these.
 */
const uploadOf = (type: string, { export_id, upload }: Mark) =>
	[crypto.randomUUID(), type, export_id, upload].join("\n");

function parseUpload(text: string) {
	const [id = "", type = "", export_id = "", upload = ""] = text.split("\n");
	return { id, type, mark: { export_id, upload } };
}

/** The ID of an upload's block. Within a blob, all IDs must have the same length. */
const blockId = (upload: string, number: number) =>
	btoa(`${parseUpload(upload).id}:${String(number).padStart(6, "0")}`);

/** Azure Blob Storage and compatible servers. */
export function azure(env: Env, config: Settings, timeoutMs: number): Destination<State> {
	const base = containerUrl(config);
	const { account_name: account, account_key: key, sas_token } = config;
	const sending = { timeoutMs, secrets: secretsOf(config) };
	/** The ETag of each blob whose mark was read and which was not written since; null if there is no such blob. */
	const seen = new Map<string, string | null>();

	type Options = {
		query?: Record<string, string | number>;
		headers?: Record<string, string>;
		body?: Uint8Array | string;
	};

	async function authorized(
		method: string,
		blob: string,
		{ query = {}, headers: extraHeaders = {}, body = "" }: Options = {},
	) {
		const url = new URL(base);
		if (blob) url.pathname += `/${blob.split("/").map(encodeURIComponent).join("/")}`;
		for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value));
		const bytes = typeof body === "string" ? Buffer.from(body) : body;
		const headers = new Headers({
			...extraHeaders,
			"x-ms-date": new Date().toUTCString(),
			"x-ms-version": API_VERSION,
			...(bytes.length > 0 && { "content-length": String(bytes.length) }),
		});
		if (key) headers.set("authorization", await sharedKey(method, url, headers, { account, key }));
		else if (sas_token) url.search += `${url.search ? "&" : ""}${sas_token.replace(/^\?/, "")}`;
		else throw new Misconfigured("Requests can't be signed without account_key or sas_token.");
		return new Request(url, {
			method,
			headers,
			...((bytes.length > 0 || method === "PUT") && { body: bytes }),
		});
	}

	/** The response, whatever its status; temporary errors are thrown. */
	const request = async (...options: Parameters<typeof authorized>) =>
		send(env, await authorized(...options), sending);

	/** The response if it is a success; null if its error code is `expected`. */
	async function ask(expected: string, ...options: Parameters<typeof request>) {
		const answer = await request(...options);
		if (answer.status >= 200 && answer.status < 300) return answer;
		if (codeOf(answer) === expected) return null;
		throw explain(answer, config, base);
	}

	/** Headers that let a write fail if the blob has changed since its mark was read. */
	function condition(blob: string) {
		const etag = seen.get(blob);
		seen.delete(blob);
		if (etag === undefined) return {};
		return etag === null ? { "if-none-match": "*" } : { "if-match": etag };
	}

	const bucket: Bucket = {
		async put(blob, body, type, mark) {
			const answer = await ask("", "PUT", blob, {
				body,
				headers: {
					"content-type": type,
					"x-ms-blob-type": "BlockBlob",
					...metadata(mark),
					...condition(blob),
				},
			});
			if (answer?.status !== 201 || !answer.headers.has("etag")) throw notStored(base);
		},
		begin: async (_, type, mark) => uploadOf(type, mark),
		async part(blob, upload, number, body) {
			const answer = await ask("", "PUT", blob, {
				query: { comp: "block", blockid: blockId(upload, number) },
				body,
			});
			if (answer?.status !== 201) throw notStored(base);
			return String(number);
		},
		async complete(blob, upload, parts) {
			const { type, mark } = parseUpload(upload);
			const blocks = parts.map((number) => `<Latest>${blockId(upload, Number(number))}</Latest>`);
			const answer = await ask("InvalidBlockList", "PUT", blob, {
				query: { comp: "blocklist" },
				headers: {
					"content-type": "application/xml",
					"x-ms-blob-content-type": type,
					...metadata(mark),
					...condition(blob),
				},
				body: `<?xml version="1.0" encoding="utf-8"?><BlockList>${blocks.join("")}</BlockList>`,
			});
			if (answer && (answer.status !== 201 || !answer.headers.has("etag"))) throw notStored(base);
			return answer !== null;
		},
		/** Uncommitted blocks can't be removed by request. Azure removes them after a week, or when the blob is written. */
		async abort() {},
		async mark(blob) {
			const { status, headers } = await request("HEAD", blob);
			// Without the permission to read, the mark is unknown. The write that follows reports any problem.
			if (status !== 200) {
				if (status === 404) seen.set(blob, null);
				return null;
			}
			seen.set(blob, headers.get("etag"));
			return {
				export_id: headers.get(EXPORT) ?? "",
				upload: headers.get(UPLOAD) ?? "",
			};
		},
		async remove(blob) {
			await ask("BlobNotFound", "DELETE", blob);
		},
	};

	return files(bucket, config, () => "", {
		// Any response will do: a server may reject requests without a signature.
		reach: () => exchange(env, new Request(base), sending),
		"sign in": async () => {
			const answer = await request("GET", "", {
				query: { restype: "container", comp: "list", maxresults: 1 },
			});
			// A SAS token may lack the permission to list, but runs don't need it.
			if (isUnauthenticated(answer)) throw explain(answer, config, base);
		},
	});
}
