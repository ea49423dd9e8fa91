import { TenantryError } from "tenantry-client";
import { request } from "./session.ts";

declare global {
	interface Window {
		/** Some browsers don't support it (https://wicg.github.io/file-system-access/). */
		showSaveFilePicker?: (options: { suggestedName: string }) => Promise<FileSystemFileHandle>;
	}
}

/** Saves a blob as a download. */
function keep(blob: Blob, name: string) {
	const link = document.createElement("a");
	link.href = URL.createObjectURL(blob);
	link.download = name;
	link.click();
	setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** Saves a text, with a mark for spreadsheets that it is UTF-8. */
export const saveText = (text: string, name: string) =>
	keep(new Blob(["\ufeff", text], { type: "text/csv;charset=utf-8" }), name);

async function errorOf(response: Response) {
	const fields: unknown = await response.json().catch(() => undefined);
	const { type, code, detail } = Object(fields);
	return new TenantryError({
		type: String(type ?? "http_error"),
		code: String(code ?? response.status),
		detail: String(detail ?? `The service responded with ${response.status}.`),
		status: response.status,
		headers: response.headers,
	});
}

/**
 * Downloads a file from the API. If the browser can write files, it asks for the location and
 * writes the file while it arrives. Otherwise, the file is kept in memory until it is complete.
 * Call this directly in a click handler, because browsers ask only after a click.
 * @param path the path in the API, with the query string
 * @param onBytes called with the number of received bytes
 * @throws {TenantryError} if the service returns an error; an AbortError if the user cancels
 */
export async function download(
	path: string,
	{ accept, name }: { accept: string; name: string },
	{ signal, onBytes }: { signal: AbortSignal; onBytes: (bytes: number) => void },
) {
	const file = await window.showSaveFilePicker?.({ suggestedName: name });
	const response = await request(path, { accept }, signal);
	if (!response.ok || !response.body) throw await errorOf(response);
	let bytes = 0;
	const counted = response.body.pipeThrough(
		new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
			transform(chunk, controller) {
				bytes += chunk.byteLength;
				onBytes(bytes);
				controller.enqueue(chunk);
			},
		}),
	);
	// An interrupted transfer leaves no file, so that no one mistakes a part for the whole file.
	if (file) await counted.pipeTo(await file.createWritable(), { signal });
	else keep(await new Response(counted).blob(), name);
}
