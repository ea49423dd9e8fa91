import { MisconfiguredError } from "../../../outbound/errors.ts";
import { type Bucket, type Mark, markAs, type OpenBucket } from "../buckets/bucket.ts";
import { type Client, connect, type Options, objectUrl } from "../buckets/client.ts";
import { azureTokens } from "../roles/azure.ts";
import type { Workload } from "../roles/workload.ts";
import { containerUrl, type Settings } from "./definition.ts";
import {
	codeOf,
	explain,
	INCOMPATIBLE,
	isUnauthenticated,
	notStored,
	secretsOf,
} from "./errors.ts";
import { sharedKey } from "./shared_key.ts";

/** The version of the REST API that the requests are written for. */
const API_VERSION = "2021-12-02";

/** The headers with the mark of a blob. The names of Azure's metadata can't have hyphens. */
const { metadata, markIn } = markAs({
	export_id: "x-ms-meta-tenantryexport",
	upload: "x-ms-meta-tenantryupload",
});

/**
 * Returns the ID of an upload. Blob Storage has no uploads: it stores the blocks of a blob without
 * showing them, until a list of their IDs commits them and sets the blob's type and metadata. So
 * the ID must contain the type and the metadata.
 */
const uploadOf = (type: string, { export_id, upload }: Mark) =>
	[crypto.randomUUID(), type, export_id, upload].join("\n");

function parseUpload(text: string) {
	const [id = "", type = "", export_id = "", upload = ""] = text.split("\n");
	return { id, type, mark: { export_id, upload } };
}

/** Returns the ID of an upload's block. All IDs within a blob must have the same length. */
const blockId = (upload: string, number: number) =>
	btoa(`${parseUpload(upload).id}:${String(number).padStart(6, "0")}`);

function signer(
	{ account_name: account, account_key: key, sas_token }: Settings,
	base: URL,
	tokens: ReturnType<typeof azureTokens> | undefined,
) {
	return async (method: string, blob: string, options: Options) => {
		const url = objectUrl(base, blob, options);
		const { body: given = "" } = options;
		const body = typeof given === "string" ? Buffer.from(given) : given;
		const headers = new Headers({
			...options.headers,
			"x-ms-date": new Date().toUTCString(),
			"x-ms-version": API_VERSION,
			...(body.length > 0 && { "content-length": String(body.length) }),
		});
		if (tokens) headers.set("authorization", `Bearer ${await tokens.get()}`);
		else if (key)
			headers.set("authorization", await sharedKey(method, url, headers, { account, key }));
		else if (sas_token) url.search += `${url.search ? "&" : ""}${sas_token.replace(/^\?/, "")}`;
		else throw new MisconfiguredError("Requests can't be signed without account_key or sas_token.");
		return new Request(url, {
			method,
			headers,
			...((body.length > 0 || method === "PUT") && { body }),
		});
	};
}

/** Opens a container of Azure Blob Storage or a compatible server. */
export function openAzure(
	env: Env,
	config: Settings,
	timeoutMs: number,
	workload: Workload,
): OpenBucket {
	const base = containerUrl(config);
	const { client_id, tenant_id } = config;
	const tokens =
		client_id && tenant_id
			? azureTokens(env, { client_id, tenant_id }, { timeoutMs, workload })
			: undefined;
	const client = connect(env, timeoutMs, {
		base,
		secrets: () => [...secretsOf(config), ...(tokens?.secrets() ?? [])],
		sign: signer(config, base, tokens),
		codeOf,
		isUnauthenticated,
		explain: (response) => explain(response, config, base),
		incompatible: INCOMPATIBLE,
		list: {
			query: { restype: "container", comp: "list" },
			parameters: { size: "maxresults", position: "marker" },
			elements: { root: "EnumerationResults", key: "Name", next: "NextMarker" },
		},
	});
	return { bucket: bucketOf(client, base), steps: client.steps };
}

function bucketOf({ ask, request, list }: Client, base: URL): Bucket {
	/** The ETag of each blob whose mark was read, until it is written; null if there is no blob. */
	const seen = new Map<string, string | null>();

	/** Returns the headers that make a write fail if the blob has changed since its mark was read. */
	function condition(blob: string): Record<string, string> {
		const etag = seen.get(blob);
		seen.delete(blob);
		if (etag === undefined) return {};
		return etag === null ? { "if-none-match": "*" } : { "if-match": etag };
	}

	return {
		async put(blob, body, type, mark) {
			const response = await ask([], "PUT", blob, {
				body,
				headers: {
					"content-type": type,
					"x-ms-blob-type": "BlockBlob",
					...metadata(mark),
					...condition(blob),
				},
			});
			if (response?.status !== 201 || !response.headers.has("etag")) throw notStored(base);
		},
		begin: async (_, type, mark) => uploadOf(type, mark),
		async part(blob, upload, number, body) {
			const query = { comp: "block", blockid: blockId(upload, number) };
			const response = await ask([], "PUT", blob, { query, body });
			if (response?.status !== 201) throw notStored(base);
			return String(number);
		},
		async complete(blob, upload, parts) {
			const { type, mark } = parseUpload(upload);
			const blocks = parts.map((number) => `<Latest>${blockId(upload, Number(number))}</Latest>`);
			const response = await ask(["InvalidBlockList"], "PUT", blob, {
				query: { comp: "blocklist" },
				headers: {
					"content-type": "application/xml",
					"x-ms-blob-content-type": type,
					...metadata(mark),
					...condition(blob),
				},
				body: `<?xml version="1.0" encoding="utf-8"?><BlockList>${blocks.join("")}</BlockList>`,
			});
			if (response && (response.status !== 201 || !response.headers.has("etag")))
				throw notStored(base);
			return response !== null;
		},
		/** There is no request for this. Azure removes uncommitted blocks after a week. */
		async abort() {},
		async mark(blob) {
			const { response } = await request("HEAD", blob);
			const { status, headers } = response;
			if (status === 404) seen.set(blob, null);
			// Without the permission to read, the mark is unknown. The write that follows reports any
			// problem.
			if (status !== 200) return null;
			seen.set(blob, headers.get("etag"));
			return markIn(headers);
		},
		async remove(blob) {
			await ask(["BlobNotFound"], "DELETE", blob, { headers: condition(blob) });
		},
		list,
	};
}
