/** Saves what is in the bucket of a local state. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { getPlatformProxy } from "wrangler";

export function save(folder: string, key: string, bytes: Uint8Array) {
	const path = `${folder}/${key}`;
	mkdirSync(dirname(path), { recursive: true });
	writeFileSync(path, bytes);
}

/**
 * Saves all objects of the worker's own bucket, each at its key below the folder. Nothing may be
 * writing to it.
 */
export async function saveR2(state: string, work: string, folder: string) {
	const configPath = `${work}/r2.json`;
	writeFileSync(
		configPath,
		JSON.stringify({
			name: "tenantry-fire-r2",
			compatibility_date: "2026-08-01",
			r2_buckets: [{ binding: "EXPORTS", bucket_name: "tenantry-exports" }],
		}),
	);
	const { env, dispose } = await getPlatformProxy<Pick<Env, "EXPORTS">>({
		configPath,
		envFiles: [],
		persist: { path: `${state}/v3` },
	});
	try {
		let cursor: string | undefined;
		do {
			const list = await env.EXPORTS.list(cursor ? { cursor } : {});
			for (const { key } of list.objects) {
				const object = await env.EXPORTS.get(key);
				if (object) save(folder, key, new Uint8Array(await object.arrayBuffer()));
			}
			cursor = list.truncated ? list.cursor : undefined;
		} while (cursor !== undefined);
	} finally {
		await dispose();
	}
}
