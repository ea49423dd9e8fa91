/** The session: a personal API key that is stored in this tab (docs/console.md#signing-in). */
import { signal } from "@preact/signals";
import { type Me, Tenantry, TenantryError } from "tenantry-client";

const STORED = "tenantry.key";

/** Whether the user signed in by mail. */
const BY_MAIL = "tenantry.by_mail";

/** The signed-in user; undefined until the user is loaded, and if no one is signed in. */
export const me = signal<Me | undefined>();

/** Returns the organization whose pages a user sees first. */
export const organizationOf = ({ organization, organizations }: Me) =>
	organization ?? organizations[0];

/** Whether this tab has a key. */
export const isSignedIn = signal(false);

/** A message on the sign-in page, for example why the last session ended. */
export const signInNotice = signal("");

/** The number of requests in progress that change something. */
export const changesInProgress = signal(0);

/**
 * Settles when the user has signed in again or left the page. Undefined while the session lasts,
 * and if no one is signed in.
 */
export const renewal = signal<PromiseWithResolvers<void> | undefined>();

/** The time limit of a request, in milliseconds. */
const REQUEST_MS = 60_000;

/** The time limit of a call, in milliseconds. A call also waits while the user signs in again. */
const CALL_MS = 24 * 60 * 60 * 1000;

/**
 * The longest delay before a request is repeated, in milliseconds. Some limits ask to wait up to an
 * hour: the user then sees the error.
 */
const MAX_DELAY_MS = 5000;

/**
 * The number of sessions that have ended in this tab. What belongs to one isn't used in a later
 * one, which may be another user's.
 */
export const endedSessions = signal(0);

const isSignal = (value: unknown) => value instanceof AbortSignal;

/** Sends a request, and counts it if it changes something. */
async function counted(url: string, init: RequestInit) {
	if ((init.method ?? "GET") === "GET") return fetch(url, init);
	changesInProgress.value += 1;
	try {
		return await fetch(url, init);
	} finally {
		changesInProgress.value -= 1;
	}
}

/**
 * Sends a request. If the service rejects the key, the page stays open: the request waits until the
 * user has signed in again, and is then sent with the new key. This is safe, because a rejected
 * request changed nothing.
 * @param ms the time limit of one attempt, in milliseconds
 */
async function send(url: string, init: RequestInit, ms?: number): Promise<Response> {
	const session = endedSessions.value;
	const signals = [init.signal, ms && AbortSignal.timeout(ms)].filter(isSignal);
	const response = await counted(url, { ...init, signal: AbortSignal.any(signals) });
	const headers = new Headers(init.headers);
	const sent = headers.get("authorization");
	if (response.status !== 401 || sent === null) return response;
	if (sent === authorization()) await signInAgain();
	const current = authorization();
	if (session !== endedSessions.value || current === null || current === sent) return response;
	headers.set("authorization", current);
	return send(url, { ...init, headers }, ms);
}

/**
 * Waits until the user has signed in again. If no user was loaded yet, there is no page to keep.
 */
async function signInAgain() {
	if (!me.value) return giveUp();
	renewal.value ??= Promise.withResolvers();
	await renewal.value.promise;
}

function endRenewal() {
	renewal.value?.resolve();
	renewal.value = undefined;
}

/** Leaves the page after the session has ended. */
export function giveUp() {
	forget();
	signInNotice.value = "Your session has ended. Sign in again.";
}

const authorization = () => {
	const key = sessionStorage.getItem(STORED);
	return key === null ? null : `Bearer ${key}`;
};

/** Sends a request that the client has no method for, such as a download. */
export const request = (path: string, headers: Record<string, string>, signal?: AbortSignal) =>
	send(location.origin + path, {
		headers: { ...headers, authorization: authorization() ?? "" },
		signal: signal ?? null,
	});

/** Options of all clients. */
const OPTIONS = { baseUrl: location.origin, maxDelay: MAX_DELAY_MS };

const clientWith = (key: string | undefined) =>
	new Tenantry({
		...OPTIONS,
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

/**
 * Whether the user signed in by mail. The session can then create keys that expire later than its
 * own key.
 */
export const isByMail = () => sessionStorage.getItem(BY_MAIL) === "true";

/** Removes the key from this tab without revoking it. */
function forget() {
	sessionStorage.removeItem(STORED);
	sessionStorage.removeItem(BY_MAIL);
	api = clientWith(undefined);
	me.value = undefined;
	isSignedIn.value = false;
	endedSessions.value += 1;
	endRenewal();
}

/** Loads the signed-in user again after a change. */
export async function reloadMe() {
	const session = endedSessions.value;
	const user = await api.users.get({ user: "@me" });
	if (session === endedSessions.value) me.value = user;
	return user;
}

const userOf = (key: string) => new Tenantry({ ...OPTIONS, key }).users.get({ user: "@me" });

/**
 * Returns the user of this tab's session; undefined if there is none, or if the service rejects its
 * key.
 */
async function currentUser() {
	if (!isSignedIn.value) return undefined;
	try {
		return me.value ?? (await reloadMe());
	} catch (error) {
		if (!isSignedIn.value) return undefined;
		throw error;
	}
}

/**
 * Continues the session with another key of the same user, unless the user has left the page in the
 * meantime.
 * @throws {TenantryError} if the key is invalid
 * @throws {Error} if the key is another user's
 */
export async function continueWith(key: string, { isByMail = false } = {}) {
	const session = endedSessions.value;
	const user = await userOf(key);
	if (session !== endedSessions.value) return;
	if (user.uuid !== me.value?.uuid)
		throw new Error(`To sign in as ${user.email}, close this page first.`);
	remember(key, isByMail);
	me.value = user;
}

/**
 * Signs in with a key. Returns false if the user keeps the session that this tab has.
 * @param mayReplace asks whether `next` may take the place of `current`, whose session lasts
 * @throws {TenantryError} if the key is invalid
 */
export async function signIn(
	key: string,
	mayReplace: (next: Me, current: Me) => Promise<boolean>,
	{ isByMail = false } = {},
) {
	const next = await userOf(key);
	while (isSignedIn.value && sessionStorage.getItem(STORED) !== key) {
		const current = await currentUser();
		if (!current) continue;
		if (!(await mayReplace(next, current))) return false;
		await signOut();
	}
	if (!isSignedIn.value) remember(key, isByMail);
	me.value = next;
	signInNotice.value = "";
	return true;
}

/**
 * The channel on which a tab sends its key, after signing in by mail, to tabs whose session has
 * ended.
 */
const CHANNEL = "tenantry.session";

/** Sends a new key to the tabs that wait for one. */
export function shareKey(key: string) {
	const channel = new BroadcastChannel(CHANNEL);
	channel.postMessage(key);
	channel.close();
}

/**
 * Calls `use` when the user has signed in by mail in another tab. Returns a function that stops
 * listening.
 */
export function awaitKey(use: (key: string) => void) {
	const channel = new BroadcastChannel(CHANNEL);
	channel.onmessage = ({ data }) => use(String(data));
	return () => channel.close();
}

/** Revokes a key. One that no longer exists counts as revoked. */
export async function revoke(key: string | undefined) {
	const client = new Tenantry({ ...OPTIONS, key, fetch: counted });
	try {
		await client.personalApiKeys.revoke({ id: "@current" });
	} catch (error) {
		if (!(error instanceof TenantryError && [401, 404].includes(error.status))) throw error;
	}
}

/** Revokes the key of this session and removes it. */
export async function revokeAndSignOut() {
	await revoke(sessionStorage.getItem(STORED) ?? undefined);
	forget();
	signInNotice.value = "You are signed out, and the key of this session is revoked.";
}

/** Ends the session. A pasted key isn't revoked, because programs may use it too. */
export async function signOut() {
	if (isByMail()) return revokeAndSignOut();
	forget();
	signInNotice.value =
		"You are signed out. Your key still works, because it was removed here but not revoked.";
}
