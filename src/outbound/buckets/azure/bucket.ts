import { elementsOf } from "../../quote.ts";
import type { Bucket, Mark } from "../bucket.ts";
import type { Client } from "./client.ts";
import { notStored } from "./errors.ts";

/** The headers with the mark of a blob. The names of Azure's metadata can't have hyphens. */
const EXPORT = "x-ms-meta-tenantryexport";
const UPLOAD = "x-ms-meta-tenantryupload";

const metadata = ({ export_id, upload }: Mark) => ({
	...(export_id && { [EXPORT]: export_id }),
	...(upload && { [UPLOAD]: upload }),
});

/**
 * Returns the ID of an upload. Blob Storage has no uploads: it stores the blocks of a blob without showing them, until a list
 * of their IDs commits them and sets the blob's type and metadata. So the ID must contain the type and the metadata.
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

/**
 * Returns the bucket that writes the blobs of a container.
 * @param base the container's URL
 */
export function bucketOf({ ask, request }: Client, base: URL): Bucket {
	/** The ETag of each blob whose mark was read and that hasn't been written since; null if the blob doesn't exist. */
	const seen = new Map<string, string | null>();

	/** Returns the headers that make a write fail if the blob has changed since its mark was read. */
	function condition(blob: string) {
		const etag = seen.get(blob);
		seen.delete(blob);
		if (etag === undefined) return {};
		return etag === null ? { "if-none-match": "*" } : { "if-match": etag };
	}

	return {
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
			await ask("BlobNotFound", "DELETE", blob, { headers: condition(blob) });
		},
		async *list(prefix) {
			let marker = "";
			do {
				const answer = await ask("", "GET", "", {
					query: { restype: "container", comp: "list", prefix, ...(marker && { marker }) },
				});
				const { text = "" } = answer ?? {};
				yield elementsOf("Name", text);
				marker = elementsOf("NextMarker", text)[0] ?? "";
			} while (marker);
		},
	};
}
