import { Field, Form, text } from "../../ui/form.tsx";

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
