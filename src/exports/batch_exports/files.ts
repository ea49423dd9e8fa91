/** The files of runs that write to the service's own bucket. */
import type { Context } from "hono";
import type { Tenant } from "../../access/tenant.ts";
import { batchExportRuns, type StoredFile } from "../../db/schema/batch_exports.ts";
import type { App } from "../../env.ts";
import { notFound, orNotFound } from "../../http/errors.ts";
import { sendFile } from "../../http/file.ts";
import { envelope, type Page } from "../../http/page.ts";
import type { Part } from "../../http/ranges.ts";
import { isRun } from "./runs.ts";
import { selectName } from "./statements.ts";

type RunPath = { id: string; run_id: string };

async function read(tenant: Tenant, { id, run_id }: RunPath) {
	const [[parent], [run]] = await tenant.read(
		selectName(tenant, id),
		tenant.db
			.select({ files: batchExportRuns.files })
			.from(batchExportRuns)
			.where(isRun(tenant, id, run_id)),
	);
	orNotFound(parent);
	return orNotFound(run).files ?? [];
}

/** The name of a file: its key after the last slash, because a run writes into one folder. */
const nameOf = ({ key }: StoredFile) => key.slice(key.lastIndexOf("/") + 1);

const toFile = (file: StoredFile) => {
	const { rows, bytes, digest } = file;
	return { name: nameOf(file), rows, bytes, digest };
};

/** Lists the files of a run, in the order of their rows. */
export async function list(tenant: Tenant, path: RunPath, page: Page) {
	const files = await read(tenant, path);
	const { offset, limit } = page;
	return envelope(page, {
		rows: files.slice(offset, offset + limit + 1),
		count: files.length,
		keys: ({ key }) => [key],
		to: toFile,
	});
}

/** Opens an object unless it was replaced since the run, whose file it was. */
async function open(
	{ EXPORTS }: Env,
	{ key, etag }: StoredFile,
	part: Part | undefined,
	isHead: boolean,
) {
	const object = isHead
		? await EXPORTS.head(key)
		: await EXPORTS.get(key, { onlyIf: { etagMatches: etag }, ...(part && { range: part }) });
	if (!object || object.etag !== etag) return null;
	const type = object.httpMetadata?.contentType ?? "application/octet-stream";
	if (isHead) return { type, body: null };
	return "body" in object && object.body instanceof ReadableStream
		? { type, body: object.body }
		: null;
}

/** Sends a file of a run, or a part of it. */
export async function download(c: Context<App>, path: RunPath, name: string) {
	const files = await read(c.var.tenant, path);
	const file = files.find((one) => nameOf(one) === name);
	if (!file) throw notFound();
	const { bytes: size, etag, digest } = file;
	return sendFile(c, {
		...{ name, size, tag: `"${etag}"`, digest },
		open: (part, isHead) => open(c.env, file, part, isHead),
	});
}
