import type * as z from "zod";
import { hiding } from "../auth/secrets.ts";
import type { Destination } from "../db/schema.ts";
import type { Tenant } from "../db/tenant.ts";
import { destinationOf } from "../exporter/destinations/index.ts";
import { endpointOf, secretsOf } from "./destination.ts";
import { read, told } from "./queries.ts";
import { exportCipher, merged, normalized, opened } from "./secrets.ts";
import type { create, Trial, update as Update } from "./shape.ts";

/** How long a destination may be silent while somebody waits for the answer. */
const PATIENCE_MS = 10_000;

/** A server may say a lot. */
const LONGEST_ERROR = 2000;

/** Tries a destination, step by step, before an export to it is saved. */
export async function before(
	tenant: Tenant,
	{ destination }: Pick<z.infer<typeof create>, "destination">,
) {
	await tenant.read();
	const { type } = destination;
	const config = normalized(type, destination.config ?? {});
	await tenant.log({
		...entryOf({ type, config }),
		scope: "BatchExportDestination",
		item_id: type,
		name: endpointOf(config) ?? type,
	});
	return attempt(tenant.env, { type, config });
}

/** Tries the destination of an export, with what the body would change of it. */
export async function of(
	tenant: Tenant,
	id: string,
	{ destination = {} }: Pick<z.infer<typeof Update>, "destination">,
) {
	const row = await read(tenant, id);
	const cipher = exportCipher(tenant.env, row);
	const stored = await merged(cipher, row.destination, destination);
	await tenant.log({ ...told(row), ...entryOf(stored) });
	return attempt(tenant.env, await opened(cipher, stored));
}

/** What the activity log says of a trial, before anything is sent: where to. */
const entryOf = ({ type, config }: Destination) => ({
	activity: "tested",
	trigger: { destination: type, endpoint: endpointOf(config) },
});

async function attempt(
	env: Env,
	{ type, config }: Destination,
): Promise<z.infer<typeof Trial>> {
	const hide = hiding(
		secretsOf(type)
			.map((key) => config[key])
			.filter((secret) => typeof secret === "string"),
	);
	const steps = await destinationOf(env, type, config, PATIENCE_MS).test();
	return {
		success: steps.every(({ error }) => error === null),
		steps: steps.map(({ name, error }) => ({
			name,
			error: error === null ? null : hide(error).slice(0, LONGEST_ERROR),
		})),
	};
}
