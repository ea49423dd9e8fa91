import type { Context } from "hono";
import type { App } from "../env.ts";
import { notFound, rangeNotSatisfiable } from "./errors.ts";
import { isKnown } from "./etag.ts";
import { type Part, readRange } from "./ranges.ts";

/** A file that a client downloads. */
type Downloaded = {
	name: string;
	/** Its size in bytes. */
	size: number;
	/** A strong ETag, with its quotes. */
	tag: string;
	/** The SHA-256 in hexadecimal digits; null if it is unknown. */
	digest: string | null;
	/**
	 * Opens the whole file or a part of it. A HEAD needs no body.
	 * @returns null if the file with this ETag doesn't exist any more
	 */
	open(
		part: Part | undefined,
		isHead: boolean,
	): Promise<{ type: string; body: ReadableStream | null } | null>;
};

/** Returns `Content-Disposition` with a name of any characters (RFC 6266, section 4.3). */
function attachment(name: string) {
	const ascii = name.replace(/[^\x20-\x7e]|["\\%]/g, "_");
	const encoded = encodeURIComponent(name.toWellFormed()).replace(
		/['()*]/g,
		(character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
	);
	return `attachment; filename="${ascii}"${ascii === name ? "" : `; filename*=UTF-8''${encoded}`}`;
}

/**
 * Returns the part of the file to send. Only GET has ranges, and `If-Range` asks for the whole file
 * if it has another ETag (RFC 9110, sections 13.1.5 and 14.2).
 * @throws 416
 */
function partOf(c: Context<App>, { size, tag }: Downloaded) {
	const condition = c.req.header("if-range");
	if (c.req.method !== "GET" || (condition !== undefined && condition !== tag)) return undefined;
	const part = readRange(c.req.header("range"), size);
	if (part === null) throw rangeNotSatisfiable(size);
	return part;
}

/** The digest of the whole file (RFC 9530), which is also that of a response with all of it. */
function digestsOf(digest: string | null, isWhole: boolean) {
	if (digest === null) return {};
	const value = `sha-256=:${Uint8Array.fromHex(digest).toBase64()}:`;
	return { "Repr-Digest": value, ...(isWhole && { "Content-Digest": value }) };
}

/**
 * Sends a file or the part of it that the client asks for. Document its routes with `fileOf`.
 * @throws 404 if it doesn't exist any more, 416 if it doesn't have the part
 */
export async function sendFile(c: Context<App>, file: Downloaded): Promise<Response> {
	const { name, size, tag, digest, open } = file;
	if (isKnown(c.req.header("if-none-match") ?? "", tag)) return c.body(null, 304, { ETag: tag });
	const part = partOf(c, file);
	const opened = await open(part, c.req.method === "HEAD");
	if (!opened) throw notFound();
	const { offset, length } = part ?? { offset: 0, length: size };
	return c.newResponse(opened.body, part ? 206 : 200, {
		ETag: tag,
		"Accept-Ranges": "bytes",
		"Content-Type": opened.type,
		"Content-Length": String(length),
		"Content-Disposition": attachment(name),
		...(part && { "Content-Range": `bytes ${offset}-${offset + length - 1}/${size}` }),
		...digestsOf(digest, part === undefined),
	});
}
