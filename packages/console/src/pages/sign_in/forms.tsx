import { useState } from "preact/hooks";
import { api } from "../../session.ts";
import { SecondaryButton } from "../../ui/button.tsx";
import { Field, Form, text } from "../../ui/form.tsx";

export function MailForm({ email = "" }: { email?: string | undefined }) {
	const [sentTo, setSentTo] = useState("");
	if (sentTo)
		return (
			<div role="status">
				<p>
					<strong>Check your mail.</strong> If there is a user with the email address {sentTo}, we
					have sent a link to sign in. It works for 15 minutes.
				</p>
				<div class="buttons">
					<SecondaryButton onPress={() => setSentTo("")}>
						Send again, or use another address
					</SecondaryButton>
				</div>
			</div>
		);
	return (
		<Form
			action="Send link"
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
				hint="We send you a link to sign in."
			/>
		</Form>
	);
}

export const KeyForm = ({ onKey }: { onKey: (key: string) => Promise<unknown> }) => (
	<details class="sign-in-other">
		<summary>Sign in with an API key</summary>
		<Form action="Sign in" asks={false} onSubmit={(fields) => onKey(text(fields, "key"))}>
			<Field
				name="key"
				label="Personal API key"
				type="password"
				required
				hint="This browser uses it until it expires or you sign out."
			/>
		</Form>
	</details>
);
