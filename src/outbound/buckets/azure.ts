import type { Destination } from "../../exporter/destinations/destination.ts";
import type { State } from "../../exporter/destinations/files/uploads.ts";
import { files } from "../../exporter/destinations/files.ts";
import { endpointOf } from "../destinations/azure.ts";
import { bucketOf } from "./azure/bucket.ts";
import { connect } from "./azure/client.ts";
import type { Settings } from "./azure/errors.ts";

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
