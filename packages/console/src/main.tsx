import { render } from "preact";
import { App } from "./app.tsx";
import { keepFocus } from "./focus.ts";
import { followKeyLink } from "./key_link.ts";
import { rememberScroll } from "./scroll.ts";
import { isSignedIn } from "./session.ts";

addEventListener("hashchange", followKeyLink);
const followed = followKeyLink();
rememberScroll();
keepFocus();
// With a session, the page appears first, because it may have to ask.
if (!isSignedIn.value) await followed;
const root = document.getElementById("console");
if (root) render(<App />, root);
