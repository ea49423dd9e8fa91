/**
 * The session. Its key is in a cookie that scripts can't read, and which all tabs share
 * (docs/console.md#signing-in). What tabs tell each other is in the browser's storage.
 */
import { signal } from "@preact/signals";
import { type Me, Tenantry, TenantryError } from "tenantry-client";

/** The name under which the browser stores whose session it has. */
const STORED = "tenantry.session";

type Stored = {
	/** The uuid of the user. */
	user: string;
	/** Whether the user signed in with a key, which signing out doesn't revoke. */
	isKey: boolean;
	/** Makes each session another one, also for the same user. */
	id: string;
};

/** The signed-in user; undefined until the user is loaded, and if no one is signed in. */
export const me = signal<Me | undefined>();

/** Returns the organization of a user who has visited none in this browser. */
export const organizationOf = ({ organization, organizations }: Me) =>
	organization ?? organizations[0];

/** Whether someone is signed in, as far as this tab knows. */
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

/** Aborted when the session of this tab ends, so that no request is sent in another one. */
let ending = new AbortController();

/** Returns whose session the browser has, according to the tab that started it. */
function stored(): Stored | undefined {
	const text = localStorage.getItem(STORED);
	return text === null ? undefined : JSON.parse(text);
}

/** Whether the user signed in with a key, instead of by mail or through a provider. */
export const isWithKey = () => stored()?.isKey ?? false;

/** Whether the page waits because somebody else has signed in in another tab. */
export const isOthers = signal(false);

/** Whether the browser has the session of another user than this tab. */
function isReplaced() {
	const user = stored()?.user;
	return me.value !== undefined && user !== undefined && user !== me.value.uuid;
}

/** The response to requests of a session that has ended in this tab. */
const tooLate = () =>
	Response.json(
		{
			type: "authentication_error",
			code: "authentication_failed",
			detail: "The session ended before the service responded.",
			attr: null,
		},
		{ status: 401 },
	);

/**
 * Sends a request of a session. If the session has ended, the page stays open: the request waits
 * until the user has signed in again, and is then sent again. This is safe, because a rejected
 * request changed nothing. A request is never sent in the session of another user.
 * @param session the value of `endedSessions` when the session began
 * @param ms the time limit of one attempt, in milliseconds
 */
async function send(
	session: number,
	url: string,
	init: RequestInit,
	ms?: number,
): Promise<Response> {
	if (isReplaced()) await signInAgain();
	const sent = localStorage.getItem(STORED);
	if (session !== endedSessions.value) return tooLate();
	const signals = [ending.signal, init.signal, ms && AbortSignal.timeout(ms)].filter(isSignal);
	const sending = counted(url, { ...init, signal: AbortSignal.any(signals) });
	const response = await sending.catch((error: unknown) => {
		if (session === endedSessions.value) throw error;
		return tooLate();
	});
	if (response.status !== 401 || session !== endedSessions.value) return response;
	if (sent === localStorage.getItem(STORED)) await signInAgain();
	const current = localStorage.getItem(STORED);
	return current === null || current === sent ? response : send(session, url, init, ms);
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

/** Leaves the page after the session has ended. Another user's session continues. */
export function giveUp() {
	const hasOther = isReplaced();
	forget();
	isSignedIn.value = hasOther;
	if (!hasOther) signInNotice.value = "Your session has ended. Sign in again.";
}

/** Sends a request that the client has no method for, such as a download. */
export const request = (path: string, headers: Record<string, string>, signal?: AbortSignal) =>
	send(endedSessions.value, location.origin + path, { headers, signal: signal ?? null });

/** Options of all clients. */
const OPTIONS = { baseUrl: location.origin, maxDelay: MAX_DELAY_MS };

const clientOf = (session: number) =>
	new Tenantry({
		...OPTIONS,
		fetch: (url, init) => send(session, url, init, REQUEST_MS),
		timeout: CALL_MS,
		callTimeout: CALL_MS,
	});

/** The client of this session. */
export let api = clientOf(endedSessions.value);
isSignedIn.value = stored() !== undefined;

/** Ends the session in this tab. */
function forget() {
	me.value = undefined;
	isSignedIn.value = false;
	isOthers.value = false;
	endedSessions.value += 1;
	api = clientOf(endedSessions.value);
	ending.abort();
	ending = new AbortController();
	endRenewal();
}

/** Tells the other tabs that the service has started a session. */
export function remember(user: string, isKey = false) {
	const session: Stored = { user, isKey, id: crypto.randomUUID() };
	localStorage.setItem(STORED, JSON.stringify(session));
}

/** Loads the signed-in user again after a change. */
export async function reloadMe() {
	const session = endedSessions.value;
	const user = await api.users.get({ user: "@me" });
	if (session !== endedSessions.value) return user;
	// Another tab has signed somebody in, and hasn't told it yet.
	if (stored()?.user !== user.uuid) remember(user.uuid, isWithKey());
	if (!isReplaced()) me.value = user;
	return user;
}

/** The user of a key or, without one, of the cookie. */
const userOf = (key?: string) =>
	new Tenantry({ ...OPTIONS, key, fetch: counted }).users.get({ user: "@me" });

/**
 * Returns the user of the browser's session; undefined if there is none, or if it has ended.
 */
export async function currentUser() {
	if (!isSignedIn.value) return undefined;
	try {
		return me.value ?? (await reloadMe());
	} catch (error) {
		if (!isSignedIn.value) return undefined;
		throw error;
	}
}

/**
 * Shows the pages of the session that the service has just started.
 * @throws {Error} if the browser hasn't kept the cookie
 */
export async function enter({ isKey = false } = {}) {
	const user = await userOf().catch((error: unknown) => {
		if (!(error instanceof TenantryError && error.status === 401)) throw error;
		throw new Error(
			"Your browser didn't keep the session. Open the console with https, and allow cookies.",
		);
	});
	if (me.value && me.value.uuid !== user.uuid) forget();
	remember(user.uuid, isKey);
	me.value = user;
	isSignedIn.value = true;
	signInNotice.value = "";
	endRenewal();
}

/** Puts the key into the cookie, after the session that it had. */
async function useKey(key: string) {
	if (stored()) await new Tenantry({ ...OPTIONS, fetch: counted }).signIn.end();
	await new Tenantry({ ...OPTIONS, key, fetch: counted }).signIn.useKey();
	await enter({ isKey: true });
}

/**
 * Continues the session with a key of the same user, unless the user has left the page in the
 * meantime.
 * @throws {TenantryError} if the key is invalid
 * @throws {Error} if the key is another user's
 */
export async function continueWith(key: string) {
	const session = endedSessions.value;
	const user = await userOf(key);
	if (session !== endedSessions.value) return;
	if (user.uuid !== me.value?.uuid)
		throw new Error(`To sign in as ${user.email}, close this page first.`);
	await useKey(key);
}

/** Whose session ends, and who is signed in then. */
export type Change = { current: Me; next: { email: string; organization: string | undefined } };

/**
 * Signs in with a key, unless the user keeps the session that the browser has.
 * @param mayReplace asks whether another user's session may take the place of the current one
 * @throws {TenantryError} if the key is invalid
 */
export async function signIn(key: string, mayReplace: (change: Change) => Promise<boolean>) {
	const next = await userOf(key);
	const organization = organizationOf(next)?.name;
	const current = await currentUser();
	const isOther = current && current.uuid !== next.uuid;
	if (isOther && !(await mayReplace({ current, next: { email: next.email, organization } })))
		return;
	await useKey(key);
}

/** Signs out, in all tabs. A key isn't revoked, because programs may use it too. */
export async function signOut({ isRevoked = false } = {}) {
	const isKept = isWithKey() && !isRevoked;
	await api.signIn.end();
	localStorage.removeItem(STORED);
	forget();
	signInNotice.value = isKept
		? "You are signed out. Your key still works, because it was removed here but not revoked."
		: "You are signed out.";
}

/** Follows what happens to the session in other tabs. */
addEventListener("storage", ({ key }) => {
	// Without a key, everything was removed.
	if (key !== STORED && key !== null) return;
	if (!stored()) {
		if (!isSignedIn.value) return;
		forget();
		signInNotice.value = "You signed out in another tab.";
		return;
	}
	isOthers.value = isReplaced();
	if (isOthers.value) renewal.value ??= Promise.withResolvers();
	else {
		// On the sign-in page, or while the page waits for its user.
		isSignedIn.value = true;
		signInNotice.value = "";
		endRenewal();
	}
});
