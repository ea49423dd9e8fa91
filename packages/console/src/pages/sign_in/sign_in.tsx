import { signIn, signInNotice } from "../../session.ts";
import { Field, Form, text } from "../../ui/form.tsx";
import { PageView } from "../../ui/page.tsx";

/** Signing in with a personal API key (docs/console.md#signing-in). */
export default function SignIn() {
	return (
		<main class="sign-in">
			<PageView title="Sign in to Tenantry">
				{signInNotice.value && <p role="status">{signInNotice.value}</p>}
				<Form action="Sign in" onSubmit={(fields) => signIn(text(fields, "key"))}>
					<Field
						name="key"
						label="Personal API key"
						type="password"
						required
						hint="It is kept for this tab, and forgotten when you close it."
					/>
				</Form>
			</PageView>
		</main>
	);
}
