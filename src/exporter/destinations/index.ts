import type { Destination } from "./destination.ts";

export function destinationOf(
	_env: Env,
	_type: string,
	_config: unknown,
): Destination {
	throw new Error("");
}
