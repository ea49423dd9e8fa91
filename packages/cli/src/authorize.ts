/** Asks a person for access, in a browser or with a code for another device (docs/oauth.md). */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { finished } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import * as oauth from "oauth4webapi";
import type { Saved } from "./config.ts";
import { context, streams } from "./context.ts";
import { FailedError } from "./failure.ts";
import { CLIENT, discover, requests, toSaved } from "./oauth.ts";
import type { Values } from "./output.ts";
import { cell } from "./text.ts";

type Server = oauth.AuthorizationServer;

const say = (text: string) => streams().stderr.write(`${text}\n`);

/** Returns the program that opens URLs on this computer, if there is a screen. */
function opener(): [program: string, ...words: string[]] | undefined {
	const { BROWSER, DISPLAY, WAYLAND_DISPLAY, SSH_CONNECTION } = context().env;
	if (BROWSER) return [BROWSER];
	// The browser would be on this computer, or would look for this program on the other one.
	if (SSH_CONNECTION) return undefined;
	if (process.platform === "darwin") return ["open"];
	if (process.platform === "win32") return ["rundll32", "url.dll,FileProtocolHandler"];
	return DISPLAY || WAYLAND_DISPLAY ? ["xdg-open"] : undefined;
}

/** Opens a URL in the browser. Returns false if there is none. */
async function open(url: URL) {
	const [program, ...words] = opener() ?? [];
	if (program === undefined) return false;
	const child = spawn(program, [...words, url.href], { detached: true, stdio: "ignore" });
	child.unref();
	return once(child, "spawn").then(
		() => true,
		() => false,
	);
}

/** Listens on a port of this computer for the browser that comes back. */
async function listen() {
	const server = createServer();
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	const address = server.address();
	const port = typeof address === "object" ? address?.port : 0;
	return { server, redirect_uri: `http://127.0.0.1:${port}/callback` };
}

/** Shows a text in the browser. It has nothing from the request. */
async function show(response: ServerResponse, status: number, text: string) {
	const headers = { "content-type": "text/plain; charset=utf-8", connection: "close" };
	response.writeHead(status, headers).end(`${text}\n`);
	await finished(response).catch(() => undefined);
}

/** Waits for the browser that comes back with this state. Other requests are rejected. */
const comesBack = (
	{ server, redirect_uri }: Awaited<ReturnType<typeof listen>>,
	as: Server,
	state: string,
) =>
	new Promise<{ result: URLSearchParams | Error; response: ServerResponse }>((resolve) => {
		server.on("request", ({ url = "" }, response) => {
			const to = URL.canParse(url, redirect_uri) ? new URL(url, redirect_uri) : undefined;
			if (to?.pathname === "/callback" && to.searchParams.get("state") === state) {
				const respond = () => oauth.validateAuthResponse(as, CLIENT, to, state);
				resolve({ result: outcomeOf(respond), response });
			} else show(response, 404, "There is nothing here.");
		});
	});

function outcomeOf<T>(action: () => T): T | Error {
	try {
		return action();
	} catch (error) {
		return error instanceof Error ? error : new Error(String(error));
	}
}

/** Logs in with a browser on this computer. Returns undefined if none can be opened. */
async function inBrowser(as: Server, scope: string) {
	const listening = await listen();
	const { server, redirect_uri } = listening;
	try {
		const verifier = oauth.generateRandomCodeVerifier();
		const state = oauth.generateRandomState();
		const page = new URL(as.authorization_endpoint ?? "");
		const parameters = {
			...CLIENT,
			...{ response_type: "code", redirect_uri, scope, state },
			code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
			code_challenge_method: "S256",
		};
		for (const [name, value] of Object.entries(parameters)) page.searchParams.set(name, value);
		const back = comesBack(listening, as, state);
		if (!(await open(page))) return undefined;
		say(`Allow the access in your browser. If it doesn't open, go to:\n${page.href}`);
		say("On another computer, use: tenantry login --device");
		const { result, response } = await back;
		if (result instanceof Error) {
			await show(response, 200, "You are not logged in. You can close this page.");
			throw result;
		}
		const tokens = await exchange(as, result, redirect_uri, verifier);
		await show(response, 200, "You are logged in. You can close this page.");
		return tokens;
	} finally {
		server.close();
		server.closeAllConnections();
	}
}

async function exchange(as: Server, code: URLSearchParams, redirect_uri: string, verifier: string) {
	const response = await oauth.authorizationCodeGrantRequest(
		as,
		CLIENT,
		oauth.None(),
		code,
		redirect_uri,
		verifier,
		requests,
	);
	return oauth.processAuthorizationCodeResponse(as, CLIENT, response);
}

/** Logs in with a code, which the person enters on any device (RFC 8628). */
async function onDevice(as: Server, scope: string) {
	const none = oauth.None();
	const asked = await oauth.deviceAuthorizationRequest(as, CLIENT, none, { scope }, requests);
	const device = await oauth.processDeviceAuthorizationResponse(as, CLIENT, asked);
	// Otherwise a service could have the person allow somebody else's request at another one.
	if (new URL(device.verification_uri).origin !== as.issuer)
		throw new FailedError("The service sends you to another one to enter the code.");
	say(
		`Go to ${cell(device.verification_uri)} on any device, and enter the code ${cell(device.user_code)}`,
	);
	const end = Date.now() + device.expires_in * 1000;
	for (let interval = device.interval ?? 5; Date.now() < end; ) {
		await sleep(interval * 1000);
		const { device_code } = device;
		const response = await oauth.deviceCodeGrantRequest(as, CLIENT, none, device_code, requests);
		try {
			return await oauth.processDeviceCodeResponse(as, CLIENT, response);
		} catch (error) {
			const code = error instanceof oauth.ResponseBodyError ? error.error : undefined;
			if (code === "slow_down") interval += 5;
			else if (code !== "authorization_pending") throw error;
		}
	}
	throw new FailedError(EXPIRED);
}

const EXPIRED = "Nobody has entered the code in time. Run tenantry login again.";

const DENIED = "The access was denied.";

/** Returns an error in the words of this program. */
function explained(error: unknown) {
	if (error instanceof oauth.AuthorizationResponseError) return new FailedError(DENIED);
	if (error instanceof oauth.ResponseBodyError) {
		if (error.error === "access_denied") return new FailedError(DENIED);
		if (error.error === "expired_token") return new FailedError(EXPIRED);
		return new FailedError(error.error_description ?? error.error);
	}
	return error;
}

/**
 * Asks the person for access, and returns the login.
 * @throws {FailedError} if the person denies it, or doesn't decide in time
 */
export async function authorize(url: string, { device, scopes }: Values): Promise<Saved> {
	const as = await discover(url);
	const scope = Array.isArray(scopes) ? scopes.join(" ") : "*";
	try {
		const tokens = (!device && (await inBrowser(as, scope))) || (await onDevice(as, scope));
		return toSaved(url, tokens);
	} catch (error) {
		throw explained(error);
	}
}
