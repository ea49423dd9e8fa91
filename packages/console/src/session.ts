/** The session: a personal API key that is stored in this tab (docs/console.md#signing-in). */
import { signal } from "@preact/signals";
import { type Me, Tenantry, TenantryError } from "tenantry-client";

const STORED = "tenantry.key";

/** Whether the user signed in by mail. */
const BY_MAIL = "tenantry.by_mail";

/** The signed-in user; undefined until the user is loaded, and if no one is signed in. */
export const me = signal<Me | undefined>();

/** Whether this tab has a key. */
export const isSignedIn = signal(false);

/** A message on the sign-in page, for example why the last session ended. */
export const signInNotice = signal("");

/** The number of requests in progress that change something. */
export const changesUnderWay = signal(0);

/** Sends a request, and counts it if it changes something. */
async function counted(url: string, init: RequestInit) {
	if ((init.method ?? "GET") === "GET") return fetch(url, init);
	changesUnderWay.value += 1;
	try {
		return await fetch(url, init);
	} finally {
		changesUnderWay.value -= 1;
	}
}

/** Sends a request, and ends the session if the service rejects its key. */
async function send(url: string, init: RequestInit) {
	const response = await counted(url, init);
	const { headers } = init;
	const sent = new Headers(headers).get("authorization");
	if (response.status === 401 && sent === authorization()) {
		forget();
		signInNotice.value = "Your session has ended. Sign in again.";
	}
	return response;
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

const clientWith = (key: string | undefined) =>
	new Tenantry({ baseUrl: location.origin, key, fetch: send });

/** The client of the signed-in user. */
export let api = clientWith(sessionStorage.getItem(STORED) ?? undefined);
isSignedIn.value = sessionStorage.getItem(STORED) !== null;

function remember(key: string, isByMail: boolean) {
	sessionStorage.setItem(STORED, key);
	sessionStorage.setItem(BY_MAIL, String(isByMail));
	api = clientWith(key);
	isSignedIn.value = true;
}

/** Whether the user signed in by mail. The session can then create keys that expire later than its own key. */
export const isByMail = () => sessionStorage.getItem(BY_MAIL) === "true";

/** Removes the key from this tab without revoking it. */
function forget() {
	sessionStorage.removeItem(STORED);
	sessionStorage.removeItem(BY_MAIL);
	api = clientWith(undefined);
	me.value = undefined;
	isSignedIn.value = false;
}

/** Loads the signed-in user again after a change. */
export async function reloadMe() {
	me.value = await api.users.get({ user: "@me" });
	return me.value;
}

/**
 * Signs in with a key.
 * @throws {TenantryError} if the key is invalid
 */
export async function signIn(key: string, { isByMail = false } = {}) {
	const client = new Tenantry({ baseUrl: location.origin, key });
	const user = await client.users.get({ user: "@me" });
	remember(key, isByMail);
	me.value = user;
	signInNotice.value = "";
	return user;
}

/** Revokes the key of this session and removes it. A key that no longer exists counts as revoked. */
export async function revokeAndSignOut() {
	try {
		await api.personalApiKeys.revoke({ id: "@current" });
	} catch (error) {
		if (!(error instanceof TenantryError && [401, 404].includes(error.status))) throw error;
	}
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
