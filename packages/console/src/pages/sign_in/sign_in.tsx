import { useEffect, useState } from "preact/hooks";
import { useLocation } from "preact-iso/router";
import { api, isSignedIn, signIn, signInNotice } from "../../session.ts";
import { Field, Form, text } from "../../ui/form.tsx";
import { PageView } from "../../ui/page.tsx";
import { Link } from "./link.tsx";

/** The path of links in mails. */
const PATH = "/console/sign_in";

/** Returns the token of the link, and removes it from the URL. */
function takeToken() {
	const token = new URLSearchParams(location.hash.slice(1)).get("token");
	if (token) history.replaceState(null, "", location.pathname + location.search);
	return token;
}

/** The form that sends a link. */
function MailForm() {
	const [sentTo, setSentTo] = useState("");
	if (sentTo)
		return (
			<div role="status">
				<p>
					<strong>Check your mail.</strong> If there is a user with the email address {sentTo}, we
					have sent a link to sign in. It works for 15 minutes.
				</p>
				<div class="buttons">
					<button type="button" class="secondary outline" onClick={() => setSentTo("")}>
						Send again, or use another address
					</button>
				</div>
			</div>
		);
	return (
		<Form
			action="Send link"
			onSubmit={async (fields) => {
				const email = text(fields, "email");
				await api.signIn.request({ email });
				setSentTo(email);
			}}
		>
			<Field
				name="email"
				label="Email address"
				type="email"
				required
				autocomplete="email"
				hint="We send you a link to sign in."
			/>
		</Form>
	);
}

const KeyForm = ({ onSignedIn }: { onSignedIn: () => void }) => (
	<details class="sign-in-other">
		<summary>Sign in with an API key</summary>
		<Form
			action="Sign in"
			onSubmit={async (fields) => {
				await signIn(text(fields, "key"));
				onSignedIn();
			}}
		>
			<Field
				name="key"
				label="Personal API key"
				type="password"
				required
				hint="It is stored in this tab until you sign out or close the tab."
			/>
		</Form>
	</details>
);

/** The page to sign in by mail or with a personal API key (docs/console.md#signing-in). */
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
	}, []);
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
						<KeyForm onSignedIn={leave} />
					</>
				)}
			</PageView>
		</main>
	);
}
