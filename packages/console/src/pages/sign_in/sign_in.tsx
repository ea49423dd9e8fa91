import { useEffect, useState } from "preact/hooks";
import { useLocation } from "preact-iso/router";
import { mayReplace } from "../../replacing.tsx";
import { isSignedIn, signIn, signInNotice } from "../../session.ts";
import { PageView } from "../../ui/page.tsx";
import { KeyForm, MailForm } from "./forms.tsx";
import { Link } from "./link.tsx";

/** The path of links in mails. */
const PATH = "/console/sign_in";

/** Returns the token of the link, and removes it from the URL. */
function takeToken() {
	const token = new URLSearchParams(location.hash.slice(1)).get("token");
	if (token) history.replaceState(null, "", location.pathname + location.search);
	return token;
}

/** Signing in by mail, or with a personal API key (docs/console.md#signing-in). */
export default function SignIn() {
	const { path, route } = useLocation();
	const [token, setToken] = useState(takeToken);
	// A link can be opened in a tab that already shows this page.
	useEffect(() => {
		const take = () => setToken((before) => takeToken() ?? before);
		addEventListener("hashchange", take);
		return () => removeEventListener("hashchange", take);
	}, []);
	/** Other paths show their own page after the user signs in. */
	const leave = () => path === PATH && route("/console", true);
	useEffect(() => {
		if (isSignedIn.value && !token) leave();
	}, [isSignedIn.value, token]);
	return (
		<main class="sign-in">
			<img class="logo" src="/console/assets/icon.svg" alt="" width="32" height="32" />
			<PageView title="Sign in to Tenantry">
				{signInNotice.value && <p role="status">{signInNotice.value}</p>}
				{token ? (
					<Link key={token} token={token} onSignedIn={leave} onOther={() => setToken(null)} />
				) : (
					<>
						<MailForm />
						<KeyForm onKey={(key) => signIn(key, mayReplace)} />
					</>
				)}
			</PageView>
		</main>
	);
}
