/** Servers that sign people in: `oidc-provider`, and one that says whatever a test wants. */
import { oidcProvider } from "../../scripts/provider/oidc.ts";
import { liar } from "./liar.ts";
import { freePort } from "./peers.ts";

/** Starts the providers. */
export async function providers() {
	const port = await freePort();
	const issuer = `http://127.0.0.1:${port}`;
	const server = oidcProvider(issuer);
	server.on("connection", (socket) => socket.unref());
	await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
	server.unref();
	return { PROVIDER_URL: issuer, LIAR_URL: await liar() };
}
