import { useEffect } from "preact/hooks";
import { awaitKey, continueWith, giveUp, me } from "../../session.ts";
import { Dialog, mayDiscard } from "../../ui/dialog.tsx";
import { attempt } from "../../ui/feedback.tsx";
import { KeyForm, MailForm } from "./forms.tsx";

/** Signing in again above a page whose session has ended (docs/console.md#signing-in). */
export default function SignInAgain() {
	useEffect(() => awaitKey((key) => attempt(() => continueWith(key, { isByMail: true }))), []);
	return (
		<Dialog
			title="Your session has ended"
			onClose={async () => {
				if (await mayDiscard()) giveUp();
			}}
		>
			<p>Sign in again to continue. What you entered on this page is still there.</p>
			<MailForm email={me.value?.email} />
			<KeyForm onKey={continueWith} />
		</Dialog>
	);
}
