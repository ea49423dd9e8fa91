import { codeOf, explain, isUnauthenticated, notStored, secretsOf } from "./azure/errors.ts";
import { sharedKey } from "./azure/shared_key.ts";
import { azureEndpoint, type Config } from "./config.ts";
import { type Destination, Misconfigured } from "./destination.ts";
import { type Bucket, files, type Mark, type State } from "./files.ts";
import { exchange, send } from "./send.ts";

type Settings = Config<"AzureBlob">;

/** The version of the REST API that the requests are written for. */
const API_VERSION = "2021-12-02";

/** The headers that hold the mark of a blob. Names of metadata have no hyphens. */
const EXPORT = "x-ms-meta-tenantryexport";
const UPLOAD = "x-ms-meta-tenantryupload";

const metadata = ({ export_id, upload }: Mark) => ({
	...(export_id && { [EXPORT]: export_id }),
	...(upload && { [UPLOAD]: upload }),
});

/** Where the container is. */
export function containerUrl({ container_name, ...config }: Settings) {
	const url = azureEndpoint(config);
	url.pathname = `${url.pathname.replace(/\/$/, "")}/${container_name}`;
	return url;
}

/**
 * An upload, in the one text that a state has for it. Blob Storage knows no uploads: blocks are sent to a blob, which doesn't
 * show them, and a list of their IDs makes them its content and sets its type and metadata.
 */
const uploadOf = (type: string, { export_id, upload }: Mark) =>
	[crypto.randomUUID(), type, export_id, upload].join("\n");

function parsed(text: string) {
	const [id = "", type = "", export_id = "", upload = ""] = text.split("\n");
	return { id, type, mark: { export_id, upload } };
}

/** The ID of an upload's block. All IDs have the same length, as they must within a blob. */
const blockId = (upload: string, number: number) =>
	btoa(`${parsed(upload).id}:${String(number).padStart(6, "0")}`);

/** Azure Blob Storage, and what speaks its language. */
export function azure(env: Env, config: Settings, timeoutMs: number): Destination<State> {
	const base = containerUrl(config);
	const { account_name: account, account_key: key, sas_token } = config;
	const sending = { timeoutMs, secrets: secretsOf(config) };
	/** The ETag of each blob whose mark was read since it was last written; null: there is no such blob. */
	const seen = new Map<string, string | null>();

	type Asked = {
		query?: Record<string, string | number>;
		headers?: Record<string, string>;
		body?: Uint8Array | string;
	};

	async function authorized(
		method: string,
		blob: string,
		{ query = {}, headers: own = {}, body = "" }: Asked = {},
	) {
		const url = new URL(base);
		if (blob) url.pathname += `/${blob.split("/").map(encodeURIComponent).join("/")}`;
		for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value));
		const bytes = typeof body === "string" ? Buffer.from(body) : body;
		const headers = new Headers({
			...own,
			"x-ms-date": new Date().toUTCString(),
			"x-ms-version": API_VERSION,
			...(bytes.length > 0 && { "content-length": String(bytes.length) }),
		});
		if (key) headers.set("authorization", await sharedKey(method, url, headers, { account, key }));
		else if (sas_token) url.search += `${url.search ? "&" : ""}${sas_token.replace(/^\?/, "")}`;
		else throw new Misconfigured("Nothing can be signed without account_key or sas_token.");
		return new Request(url, {
			method,
			headers,
			...((bytes.length > 0 || method === "PUT") && { body: bytes }),
		});
	}

	/** The answer, whatever it is; what may pass is thrown. */
	const answered = async (...what: Parameters<typeof authorized>) =>
		send(env, await authorized(...what), sending);

	/** The answer if it is a success; null if its code is `unless`. */
	async function asked(unless: string, ...what: Parameters<typeof answered>) {
		const answer = await answered(...what);
		if (answer.status >= 200 && answer.status < 300) return answer;
		if (codeOf(answer) === unless) return null;
		throw explain(answer, config, base);
	}

	/** That the blob is as it was when its mark was read, so that none of another export is replaced. */
	function condition(blob: string) {
		const etag = seen.get(blob);
		seen.delete(blob);
		if (etag === undefined) return {};
		return etag === null ? { "if-none-match": "*" } : { "if-match": etag };
	}

	const bucket: Bucket = {
		async put(blob, body, type, mark) {
			const answer = await asked("", "PUT", blob, {
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
			const answer = await asked("", "PUT", blob, {
				query: { comp: "block", blockid: blockId(upload, number) },
				body,
			});
			if (answer?.status !== 201) throw notStored(base);
			return String(number);
		},
		async complete(blob, upload, parts) {
			const { type, mark } = parsed(upload);
			const listed = parts.map((number) => `<Latest>${blockId(upload, Number(number))}</Latest>`);
			const answer = await asked("InvalidBlockList", "PUT", blob, {
				query: { comp: "blocklist" },
				headers: {
					"content-type": "application/xml",
					"x-ms-blob-content-type": type,
					...metadata(mark),
					...condition(blob),
				},
				body: `<?xml version="1.0" encoding="utf-8"?><BlockList>${listed.join("")}</BlockList>`,
			});
			if (answer && (answer.status !== 201 || !answer.headers.has("etag"))) throw notStored(base);
			return answer !== null;
		},
		/** No request removes blocks that aren't committed; the server does so after a week, or when the blob is written. */
		async abort() {},
		async mark(blob) {
			const { status, headers } = await answered("HEAD", blob);
			// Where the token may not read, nothing can be told: the write that follows says what is wrong.
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
			await asked("BlobNotFound", "DELETE", blob);
		},
	};

	return files(bucket, config, () => "", {
		// Any answer will do: a server may refuse whoever doesn't sign.
		reach: () => exchange(env, new Request(base), sending),
		"sign in": async () => {
			const answer = await answered("GET", "", {
				query: { restype: "container", comp: "list", maxresults: 1 },
			});
			// A SAS token may lack the permission to list, which no run needs.
			if (isUnauthenticated(answer)) throw explain(answer, config, base);
		},
	});
}
