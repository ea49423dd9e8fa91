import { WorkerEntrypoint } from "cloudflare:workers";

/** Returns the host names in `allowed_hosts` (a list, or with commas) that have a dot. */
export function allowedHosts({ allowed_hosts }: Record<string, unknown>) {
	const names = typeof allowed_hosts === "string" ? allowed_hosts.split(",") : allowed_hosts;
	if (!Array.isArray(names)) return [];
	return names
		.map((name) => String(name).trim().toLowerCase())
		.filter((name) => /^([a-z0-9-]+\.)+[a-z][a-z0-9-]*[a-z0-9]$/.test(name));
}

/** The network of a sandbox: the given hosts at public addresses, without redirects. */
export class Outbound extends WorkerEntrypoint<Env, { hosts: string[] }> {
	override async fetch(request: Request) {
		const { host, hostname } = new URL(request.url);
		if (!this.ctx.props.hosts.includes(host)) throw new Error(`This plugin may not reach ${host}.`);
		const { checkPublicHost } = await import("../../outbound/dns/reach.ts");
		const failure = await checkPublicHost(this.env, hostname);
		if (failure) throw new Error(`This plugin may not reach ${host}: ${failure.error}`);
		const { sendRequest } = await import("../../outbound/fetch.ts");
		const sender = request.headers.get("user-agent");
		return sendRequest(this.env, new Request(request), { redirect: "manual", sender });
	}
}
