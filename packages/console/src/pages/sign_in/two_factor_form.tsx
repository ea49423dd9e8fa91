import lazy from "preact-iso/lazy";
import type { TwoFactorSetup } from "tenantry-client";
import { Form, text } from "../../ui/form.tsx";
import { CodeField } from "../../ui/proof.tsx";
import { Snippet } from "../../ui/values.tsx";

const Qr = lazy(() => import("./qr.tsx"));

/** Splits a secret into groups of four, which are easier to type. */
const spaced = (secret: string) => secret.replace(/.{4}(?=.)/g, "$& ");

/** Shows the secret of a new second factor, with a form for the first code. */
export const SetUpForm = ({
	setup: { secret, otpauth_url },
	action,
	onCode,
	onCancel,
}: {
	setup: TwoFactorSetup;
	action: string;
	onCode: (code: string) => Promise<unknown>;
	onCancel?: () => void;
}) => (
	<>
		<p>1. Scan this QR code with your authenticator app.</p>
		<Qr value={otpauth_url} label="QR code with the secret for an authenticator app" />
		<details>
			<summary>Or enter the secret in the app</summary>
			<Snippet value={spaced(secret)} label="Copy secret" />
		</details>
		<p>2. Enter the code that the app shows.</p>
		<Form action={action} onSubmit={(fields) => onCode(text(fields, "code"))} onCancel={onCancel}>
			<CodeField />
		</Form>
	</>
);
