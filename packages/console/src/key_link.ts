/**
 * Links with an API key after `#key=`, such as the link of `npm start`. Browsers don't send this
 * part to servers.
 */
import { TenantryError } from "tenantry-client";
import { mayReplace } from "./replacing.tsx";
import { continueWith, isSignedIn, renewal, signIn, signInNotice } from "./session.ts";
import { cancelQuestion } from "./ui/dialog.tsx";
import { warn, wordsOf } from "./ui/feedback.tsx";

/**
 * A host that only this machine can be. On other hosts, a link to somebody else's account could be
 * sent to anyone.
 */
const LOOPBACK = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** Returns the key in the URL, and removes it from there. */
function takeKey() {
	const key = new URLSearchParams(location.hash.slice(1)).get("key");
	if (key !== null) history.replaceState(history.state, "", location.pathname + location.search);
	return key;
}

function tell(text: string) {
	if (isSignedIn.value) warn(text);
	else signInNotice.value = text;
}

async function follow(key: string) {
	if (!LOOPBACK.test(location.hostname)) {
		tell(
			"Links with keys work only on the machine that runs the service. Sign in by mail or paste the key.",
		);
		return;
	}
	try {
		await (renewal.value ? continueWith(key) : signIn(key, mayReplace));
	} catch (error) {
		const isInvalid = error instanceof TenantryError && error.status === 401;
		const reason = isInvalid ? "Its key is invalid, expired or revoked." : wordsOf(error);
		tell(`The link can't sign you in. ${reason}`);
	}
}

/** Links are followed one after another, so that a session has begun before the next link ends it. */
let followed = Promise.resolve();

/** Signs in with the key in the URL, if there is one (docs/console.md#signing-in). */
export function followKeyLink() {
	const key = takeKey();
	if (!key) return followed;
	cancelQuestion();
	followed = followed.then(() => follow(key));
	return followed;
}
