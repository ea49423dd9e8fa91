import { bucketOf } from "./azure/bucket.ts";
import { connect } from "./azure/client.ts";
import { endpointOf } from "./azure/config.ts";
import type { Settings } from "./azure/errors.ts";
import type { Destination } from "./destination.ts";
import type { State } from "./files/uploads.ts";
import { files } from "./files.ts";

export function containerUrl({ container_name, ...config }: Settings) {
	const url = endpointOf(config);
	url.pathname = `${url.pathname.replace(/\/$/, "")}/${container_name}`;
	return url;
}

/** Azure Blob Storage and compatible servers. */
export function azure(env: Env, config: Settings, timeoutMs: number): Destination<State> {
	const base = containerUrl(config);
	const client = connect(env, config, base, timeoutMs);
	return files(bucketOf(client, base), config, () => "", {
		reach: client.reach,
		"sign in": client.signIn,
	});
}
