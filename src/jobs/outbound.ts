import { WorkerEntrypoint } from "cloudflare:workers";

/** The network of a sandbox: the hosts that it was given, and nothing else, redirects included. */
export class Outbound extends WorkerEntrypoint<Env, { hosts: string[] }> {
	override async fetch(request: Request) {
		const { host } = new URL(request.url);
		if (!this.ctx.props.hosts.includes(host))
			throw new Error(`This plugin may not reach ${host}.`);
		return fetch(request, { redirect: "manual" });
	}
}
