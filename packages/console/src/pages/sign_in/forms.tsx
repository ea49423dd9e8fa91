import { useState } from "preact/hooks";
import { api, signIn } from "../../session.ts";
import { Field, Form, text } from "../../ui/form.tsx";

/** Asks for a link. */
export function MailForm({ email = "" }: { email?: string | undefined }) {
	const [sentTo, setSentTo] = useState("");
	if (sentTo)
		return (
			<div role="status">
				<p>
					<strong>Check your mail.</strong> If {sentTo} is the address of a user, a link to sign in
					is on its way. It works for 15 minutes.
				</p>
				<div class="buttons">
					<button type="button" class="secondary outline" onClick={() => setSentTo("")}>
						Send it again, or to another address
					</button>
				</div>
			</div>
		);
	return (
		<Form
			action="Send a link"
			asks={false}
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
				defaultValue={email}
				required
				autocomplete="email"
				hint="You get a link to sign in with."
			/>
		</Form>
	);
}

export const KeyForm = ({ onSignedIn }: { onSignedIn?: () => void }) => (
	<details class="sign-in-other">
		<summary>Sign in with an API key</summary>
		<Form
			action="Sign in"
			asks={false}
			onSubmit={async (fields) => {
				await signIn(text(fields, "key"));
				onSignedIn?.();
			}}
		>
			<Field
				name="key"
				label="Personal API key"
				type="password"
				required
				hint="It is kept for this tab, and forgotten when you sign out or close it."
			/>
		</Form>
	</details>
);
