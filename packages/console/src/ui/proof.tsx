import type { PasskeyRequest, RemovePasskeyBody } from "tenantry-client";
import { api } from "../session.ts";
import { SecondaryButton } from "./button.tsx";
import { Dialog } from "./dialog.tsx";
import { Field, Form, text } from "./form.tsx";
import { hasPasskeys, usePasskey } from "./webauthn.ts";

/** A proof of the second factor: a code or a passkey. */
export type Proof = RemovePasskeyBody;

export const CodeField = ({ hint }: { hint?: string }) => (
	<Field
		name="code"
		label="Code"
		required
		autocomplete="one-time-code"
		autocapitalize="none"
		spellcheck={false}
		{...(hint && { hint })}
	/>
);

/** Asks for a code, and offers passkeys. */
export const ProofForm = ({
	action,
	isDangerous = false,
	onProof,
	onCancel,
	challenge,
}: {
	action: string;
	isDangerous?: boolean;
	onProof: (proof: Proof) => Promise<unknown>;
	onCancel?: (() => void) | undefined;
	/** Asks for a challenge; undefined if the user has no passkeys. */
	challenge: (() => Promise<PasskeyRequest>) | undefined;
}) => (
	<>
		{challenge && hasPasskeys() && (
			<div class="passkey-proof">
				<SecondaryButton
					onPress={async () => onProof({ passkey: await usePasskey(await challenge()) })}
				>
					Use a passkey
				</SecondaryButton>
			</div>
		)}
		<Form
			action={action}
			isDangerous={isDangerous}
			onSubmit={(fields) => onProof({ code: text(fields, "code") })}
			onCancel={onCancel}
		>
			<CodeField hint="From your authenticator app, or a recovery code." />
		</Form>
	</>
);

/** Asks for a proof before a change of the account. */
export const ProofDialog = ({
	title,
	words,
	passkeys,
	onClose,
	...form
}: {
	title: string;
	words: string;
	action: string;
	isDangerous?: boolean;
	/** How many passkeys the user has. */
	passkeys: number;
	onProof: (proof: Proof) => Promise<unknown>;
	onClose: () => void;
}) => (
	<Dialog title={title} onClose={onClose}>
		<p>{words}</p>
		<ProofForm
			{...form}
			challenge={passkeys > 0 ? () => api.passkeys.challenge({ user: "@me" }) : undefined}
			onCancel={onClose}
		/>
	</Dialog>
);
