import about from "../../package.json" with { type: "json" };

/** The User-Agent of the service (docs/keys.md#addresses-that-users-name). */
export function userAgent({ APP_URL }: Pick<Env, "APP_URL">) {
	// As ASCII: a header can't have all characters of a host name.
	const url = URL.parse(APP_URL)?.href.replace(/\/$/, "");
	return `Tenantry/${about.version}${url ? ` (+${url})` : ""}`;
}

type Options = Pick<RequestInit, "redirect" | "signal"> & {
	/** The User-Agent of a program on whose behalf the service sends the request. */
	sender?: string | null;
};

/** Sends a request to another server, with the service's User-Agent. Nothing else calls `fetch`. */
export function sendRequest(
	env: Pick<Env, "APP_URL">,
	request: Request,
	{ sender, ...init }: Options = {},
) {
	request.headers.set("user-agent", [sender, userAgent(env)].filter(Boolean).join(" "));
	// biome-ignore lint/style/noRestrictedGlobals: the only call
	return fetch(request, init);
}
