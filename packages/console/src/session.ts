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

/** Ends the session in this tab when the service refuses its key. */
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

/** Requests what the client has no call for, such as a file, with this tab's key. */
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

/** Whether the tab's key was made by signing in with a mailed link: it may make keys that last longer than itself. */
export const isByMail = () => sessionStorage.getItem(BY_MAIL) === "true";

/** Drops the key from this tab. It goes on working. */
function forget() {
	sessionStorage.removeItem(STORED);
	sessionStorage.removeItem(BY_MAIL);
	api = clientWith(undefined);
	me.value = undefined;
	isSignedIn.value = false;
}

/** Loads the signed-in user again, after something about them has changed. */
export async function reloadMe() {
	me.value = await api.users.get({ user: "@me" });
	return me.value;
}

/**
 * Signs in with a key.
 * @throws {TenantryError} if the service doesn't know the key
 */
export async function signIn(key: string, { isByMail = false } = {}) {
	const client = new Tenantry({ baseUrl: location.origin, key });
	const user = await client.users.get({ user: "@me" });
	remember(key, isByMail);
	me.value = user;
	signInNotice.value = "";
	return user;
}

/** Revokes this tab's key and drops it. A key that is already gone counts as revoked. */
export async function revokeAndSignOut() {
	try {
		await api.personalApiKeys.revoke({ id: "@current" });
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
