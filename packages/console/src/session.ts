/** Who is signed in: a session is a personal API key that is kept for this tab (docs/console.md#signing-in). */
import { signal } from "@preact/signals";
import { type Me, Tenantry, TenantryError } from "tenantry-client";

const STORED = "tenantry.key";

/** Whether the key was made by signing in with a mailed link. */
const BY_MAIL = "tenantry.by_mail";

/** The user whose key this tab has; undefined before they are loaded, and if nobody is signed in. */
export const me = signal<Me | undefined>();

/** Whether this tab has a key. */
export const isSignedIn = signal(false);

/** What the sign-in page says above its form, such as why the last session ended. */
export const signInNotice = signal("");

/** How many requests are under way that change something. */
export const changesUnderWay = signal(0);

/**
 * Settles when the user has signed in again, or has given up the page. Undefined while the session lasts, and if
 * nobody is signed in.
 */
export const renewal = signal<PromiseWithResolvers<void> | undefined>();

/** How long a request may take, in milliseconds. */
const REQUEST_MS = 60_000;

/** How long a call may take, in milliseconds: it waits while the user signs in again. */
const CALL_MS = 24 * 60 * 60 * 1000;

/** Counts the sessions of this tab: what one has sent isn't sent again in the next, which may be another user's. */
let sessions = 0;

const isSignal = (value: unknown) => value instanceof AbortSignal;

/** Makes a request, and counts it while it changes something. */
async function counted(url: string, init: RequestInit) {
	if ((init.method ?? "GET") === "GET") return fetch(url, init);
	changesUnderWay.value += 1;
	try {
		return await fetch(url, init);
	} finally {
		changesUnderWay.value -= 1;
	}
}

/**
 * Makes a request. If the service refuses the tab's key, the page stays as it is: the request waits until the user has
 * signed in again, and is sent with the new key. The service does nothing for a key that it refuses, so this is safe.
 * @param ms how long to wait for the service
 */
async function send(url: string, init: RequestInit, ms?: number): Promise<Response> {
	const session = sessions;
	const signals = [init.signal, ms && AbortSignal.timeout(ms)].filter(isSignal);
	const response = await counted(url, { ...init, signal: AbortSignal.any(signals) });
	const headers = new Headers(init.headers);
	const sent = headers.get("authorization");
	if (response.status !== 401 || sent === null) return response;
	if (sent === authorization()) await signInAgain();
	const current = authorization();
	if (session !== sessions || current === null || current === sent) return response;
	headers.set("authorization", current);
	return send(url, { ...init, headers }, ms);
}

/** Waits until the user has signed in again. Without a user there is no page yet that has to stay. */
async function signInAgain() {
	if (!me.value) return giveUp();
	renewal.value ??= Promise.withResolvers();
	await renewal.value.promise;
}

function endRenewal() {
	renewal.value?.resolve();
	renewal.value = undefined;
}

/** Leaves the page of a session that has ended. */
export function giveUp() {
	forget();
	signInNotice.value = "Your session has ended. Sign in again.";
}

const authorization = () => {
	const key = sessionStorage.getItem(STORED);
	return key === null ? null : `Bearer ${key}`;
};

/** Requests what the client has no call for, such as a file, with this tab's key. */
export const request = (path: string, headers: Record<string, string>, signal?: AbortSignal) =>
	send(location.origin + path, {
		headers: { ...headers, authorization: authorization() ?? "" },
		signal: signal ?? null,
	});

const clientWith = (key: string | undefined) =>
	new Tenantry({
		baseUrl: location.origin,
		key,
		fetch: (url, init) => send(url, init, REQUEST_MS),
		timeout: CALL_MS,
		callTimeout: CALL_MS,
	});

/** The client of the signed-in user. */
export let api = clientWith(sessionStorage.getItem(STORED) ?? undefined);
isSignedIn.value = sessionStorage.getItem(STORED) !== null;

function remember(key: string, isByMail: boolean) {
	sessionStorage.setItem(STORED, key);
	sessionStorage.setItem(BY_MAIL, String(isByMail));
	api = clientWith(key);
	isSignedIn.value = true;
	endRenewal();
}

/** Whether the tab's key was made by signing in with a mailed link: it may make keys that last longer than itself. */
export const isByMail = () => sessionStorage.getItem(BY_MAIL) === "true";

/** Drops the key from this tab. It goes on working. */
function forget() {
	sessionStorage.removeItem(STORED);
	sessionStorage.removeItem(BY_MAIL);
	api = clientWith(undefined);
	me.value = undefined;
	isSignedIn.value = false;
	sessions += 1;
	endRenewal();
}

/** Loads the signed-in user again, after something about them has changed. */
export async function reloadMe() {
	me.value = await api.users.get({ user: "@me" });
	return me.value;
}

/**
 * Signs in with a key.
 * @throws {TenantryError} if the service doesn't know the key
 * @throws {Error} if the session of another user has ended whose page is open still
 */
export async function signIn(key: string, { isByMail = false } = {}) {
	const client = new Tenantry({ baseUrl: location.origin, key });
	const user = await client.users.get({ user: "@me" });
	if (renewal.value && user.uuid !== me.value?.uuid)
		throw new Error(`To sign in as ${user.email}, close this page first.`);
	remember(key, isByMail);
	me.value = user;
	signInNotice.value = "";
	return user;
}

/** Where a tab in which somebody has signed in by mail gives its key to tabs whose session has ended. */
const CHANNEL = "tenantry.session";

/** Gives a new key to the tabs that wait for one. */
export function shareKey(key: string) {
	const channel = new BroadcastChannel(CHANNEL);
	channel.postMessage(key);
	channel.close();
}

/** Calls this when the user has signed in by mail in another tab. Returns what ends it. */
export function awaitKey(use: (key: string) => void) {
	const channel = new BroadcastChannel(CHANNEL);
	channel.onmessage = ({ data }) => use(String(data));
	return () => channel.close();
}

/** Revokes this tab's key and drops it. A key that is already gone counts as revoked. */
export async function revokeAndSignOut() {
	const key = sessionStorage.getItem(STORED) ?? undefined;
	const client = new Tenantry({ baseUrl: location.origin, key, fetch: counted });
	try {
		await client.personalApiKeys.revoke({ id: "@current" });
	} catch (error) {
		if (!(error instanceof TenantryError && [401, 404].includes(error.status))) throw error;
	}
	forget();
	signInNotice.value = "You are signed out, and the key of this session is revoked.";
}

/** Ends the session. A key that was pasted goes on working: programs may use it, too. */
export async function signOut() {
	if (isByMail()) return revokeAndSignOut();
	forget();
	signInNotice.value =
		"You are signed out. Your key still works: it is forgotten here, not revoked.";
}
