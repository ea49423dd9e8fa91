import { WorkerEntrypoint } from "cloudflare:workers";

/** The network of a sandbox: the given hosts at public addresses, without redirects. */
export class Outbound extends WorkerEntrypoint<Env, { hosts: string[] }> {
	override async fetch(request: Request) {
		const { host, hostname } = new URL(request.url);
		if (!this.ctx.props.hosts.includes(host)) throw new Error(`This plugin may not reach ${host}.`);
		const { checkPublicHost } = await import("../../outbound/reach.ts");
		const failure = await checkPublicHost(this.env, hostname);
		if (failure) throw new Error(`This plugin may not reach ${host}: ${failure.error}`);
		const { sendRequest } = await import("../../outbound/fetch.ts");
		const sender = request.headers.get("user-agent");
		return sendRequest(this.env, new Request(request), { redirect: "manual", sender });
	}
}
