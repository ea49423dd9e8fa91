import { WorkerEntrypoint } from "cloudflare:workers";
import { resolveHost } from "../dns/reach.ts";

/**
 * The hosts that the config lets the plugin reach: names in `allowed_hosts`, a list or a text with commas. Addresses and
 * names without a dot are none.
 */
export function allowedHosts({ allowed_hosts: given }: Record<string, unknown>) {
	const names = typeof given === "string" ? given.split(",") : given;
	if (!Array.isArray(names)) return [];
	return names
		.map((name) => String(name).trim().toLowerCase())
		.filter((name) => /^([a-z0-9-]+\.)+[a-z][a-z0-9-]*[a-z0-9]$/.test(name));
}

/**
 * The network of a sandbox: the hosts that it was given, as long as they are on the internet, and nothing else,
 * redirects included.
 */
export class Outbound extends WorkerEntrypoint<Env, { hosts: string[] }> {
	override async fetch(request: Request) {
		const { host, hostname } = new URL(request.url);
		if (!this.ctx.props.hosts.includes(host)) throw new Error(`This plugin may not reach ${host}.`);
		const why = await resolveHost(this.env, hostname);
		if (why !== null) throw new Error(`This plugin may not reach ${host}: ${why}`);
		return fetch(request, { redirect: "manual" });
	}
}
