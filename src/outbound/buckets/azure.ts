import { endpointOf } from "../destinations/azure.ts";
import { bucketOf } from "./azure/bucket.ts";
import { connect } from "./azure/client.ts";
import type { Settings } from "./azure/errors.ts";
import type { OpenBucket } from "./bucket.ts";

export function containerUrl({ container_name, ...config }: Settings) {
	const url = endpointOf(config);
	url.pathname = `${url.pathname.replace(/\/$/, "")}/${container_name}`;
	return url;
}

/** Opens a container of Azure Blob Storage or a compatible server. */
export function azure(env: Env, config: Settings, timeoutMs: number): OpenBucket {
	const base = containerUrl(config);
	const client = connect(env, config, base, timeoutMs);
	return {
		bucket: bucketOf(client, base),
		steps: { reach: client.reach, "sign in": client.signIn },
	};
}
