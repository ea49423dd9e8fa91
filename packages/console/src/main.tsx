import { render } from "preact";
import { App } from "./app.tsx";
import { keepFocus } from "./focus.ts";
import { rememberScroll } from "./scroll.ts";
import { signIn } from "./session.ts";
import { attempt } from "./ui/feedback.tsx";

/** Signs in with the key after `#key=` in the link of `npm start`, and removes it from the URL. Browsers don't send this part. */
async function signInByLink() {
	const key = new URLSearchParams(location.hash.slice(1)).get("key");
	if (!key) return;
	history.replaceState(null, "", location.pathname + location.search);
	await attempt(() => signIn(key));
}

rememberScroll();
keepFocus();
await signInByLink();
const root = document.getElementById("console");
if (root) render(<App />, root);
