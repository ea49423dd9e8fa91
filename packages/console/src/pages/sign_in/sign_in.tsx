import { useEffect, useState } from "preact/hooks";
import { useLocation } from "preact-iso/router";
import { mayReplace } from "../../replacing.tsx";
import { isSignedIn, signIn, signInNotice } from "../../session.ts";
import { PageView } from "../../ui/page.tsx";
import { AddressForm, Providers } from "./address_form.tsx";
import { KeyForm } from "./forms.tsx";
import { Link } from "./link.tsx";
import { PasskeyButton } from "./passkey_button.tsx";
import { problemOf } from "./problems.ts";

/** The path of links in mails. */
const PATH = "/console/sign_in";

/** Returns a value after the `#` of the URL, and removes it there. */
function take(name: string) {
	const value = new URLSearchParams(location.hash.slice(1)).get(name);
	if (value) history.replaceState(null, "", location.pathname + location.search);
	return value;
}

/** Returns the token of the link. */
const takeToken = () => take("token");

/** Signing in by mail, with a passkey, or with a personal API key (docs/console.md#signing-in). */
export default function SignIn() {
	const { path, route } = useLocation();
	const [token, setToken] = useState(takeToken);
	const [isPasskey, setPasskey] = useState(false);
	const [problem, setProblem] = useState(() => problemOf(take("problem")));
	// A link can be opened in a tab that already shows this page.
	useEffect(() => {
		const takeAgain = () => setToken((before) => takeToken() ?? before);
		addEventListener("hashchange", takeAgain);
		return () => removeEventListener("hashchange", takeAgain);
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
					<Link
						key={token}
						token={token}
						isPasskey={isPasskey}
						onSignedIn={leave}
						onOther={(problem) => {
							setPasskey(false);
							setToken(null);
							setProblem(problem);
						}}
					/>
				) : (
					<>
						{problem && <p role="alert">{problem}</p>}
						<AddressForm waits={problem !== undefined} />
						<Providers />
						<PasskeyButton
							onToken={(token) => {
								setPasskey(true);
								setToken(token);
							}}
						/>
						<KeyForm onKey={(key) => signIn(key, mayReplace)} />
					</>
				)}
			</PageView>
		</main>
	);
}
