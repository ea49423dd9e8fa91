import { TenantryError } from "tenantry-client";
import { request } from "./session.ts";

declare global {
	interface Window {
		/** Not in all browsers (https://wicg.github.io/file-system-access/). */
		showSaveFilePicker?: (options: { suggestedName: string }) => Promise<FileSystemFileHandle>;
	}
}

/** Lets the browser keep what was downloaded. */
function keep(blob: Blob, name: string) {
	const link = document.createElement("a");
	link.href = URL.createObjectURL(blob);
	link.download = name;
	link.click();
	setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

async function refusalOf(response: Response) {
	const fields: unknown = await response.json().catch(() => undefined);
	const { type, code, detail } = Object(fields);
	return new TenantryError({
		type: String(type ?? "http_error"),
		code: String(code ?? response.status),
		detail: String(detail ?? `The service answered ${response.status}.`),
		status: response.status,
		headers: response.headers,
	});
}

/**
 * Downloads a file that the service makes, with this tab's key. Where the browser can write files, it
 * asks where to, and the file goes there as it arrives; elsewhere it is kept in memory until it is complete.
 * Call it at once when a button is pressed: browsers ask only then.
 * @param path of the API, with its query
 * @param onBytes is told how many bytes have arrived
 * @throws {TenantryError} if the service refuses; an AbortError if the user cancels
 */
export async function download(
	path: string,
	{ accept, name }: { accept: string; name: string },
	{ signal, onBytes }: { signal: AbortSignal; onBytes: (bytes: number) => void },
) {
	const file = await window.showSaveFilePicker?.({ suggestedName: name });
	const response = await request(path, { accept }, signal);
	if (!response.ok || !response.body) throw await refusalOf(response);
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
	// A transfer that breaks off leaves no file, so that nobody takes a part for the whole.
	if (file) await counted.pipeTo(await file.createWritable(), { signal });
	else keep(await new Response(counted).blob(), name);
}
