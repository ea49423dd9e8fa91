import { continueWith, giveUp, isOthers, me } from "../../session.ts";
import { Dialog, mayDiscard } from "../../ui/dialog.tsx";
import { AddressForm } from "./address_form.tsx";
import { KeyForm } from "./forms.tsx";

/** Signing in again above a page whose session has ended (docs/console.md#signing-in). */
export default function SignInAgain() {
	return (
		<Dialog
			title="Your session has ended"
			onClose={async () => {
				if (await mayDiscard()) giveUp();
			}}
		>
			<p>
				{isOthers.value && "Somebody else has signed in in another tab of this browser. "}
				Sign in again to continue. What you entered on this page is still there.
			</p>
			<AddressForm email={me.value?.email} isApart />
			<KeyForm onKey={continueWith} />
		</Dialog>
	);
}
