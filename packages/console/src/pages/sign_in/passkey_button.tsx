import { api } from "../../session.ts";
import { SecondaryButton } from "../../ui/button.tsx";
import { hasPasskeys, usePasskey } from "../../ui/webauthn.ts";

/** Signs in with a passkey, if the browser has them. `onToken` gets what completes it. */
export const PasskeyButton = ({ onToken }: { onToken: (token: string) => void }) =>
	hasPasskeys() ? (
		<div class="sign-in-other ways">
			<SecondaryButton
				onPress={async () => {
					const passkey = await usePasskey(await api.signIn.beginPasskey({}));
					onToken((await api.signIn.enter({ passkey })).token);
				}}
			>
				Sign in with a passkey
			</SecondaryButton>
		</div>
	) : null;
