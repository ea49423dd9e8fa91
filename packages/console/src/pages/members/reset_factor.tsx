import { useLoad } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { Show, say } from "../../ui/feedback.tsx";
import { ProofForm } from "../../ui/proof.tsx";
import { nameOf } from "../../ui/values.tsx";
import type { Person } from "./member_actions.tsx";

/** Resets the second factor of a member who has lost it (docs/keys.md#a-lost-second-factor). */
export function ResetFactor({ user, onClose }: { user: Person; onClose: () => void }) {
	const { at } = useOrganization();
	const own = useLoad((signal) => api.twoFactor.get({ user: "@me" }, { signal }), []);
	const name = nameOf(user);
	return (
		<Dialog title={`Reset the second factor of ${name}?`} onClose={onClose}>
			<p>
				Do this only if you are sure that {name} asks for it: call them. Their authenticator app,
				recovery codes, passkeys and sessions end. They sign in with a link by mail, and can then
				set up a new second factor. They and all owners get a mail.
			</p>
			<Show of={own}>
				{({ is_enabled, passkeys }) =>
					is_enabled ? (
						<>
							<p>Prove your own second factor.</p>
							<ProofForm
								action="Reset second factor"
								isDangerous
								challenge={passkeys > 0 ? () => api.passkeys.challenge({ user: "@me" }) : undefined}
								onCancel={onClose}
								onProof={async (proof) => {
									await api.members.resetTwoFactor({ ...at, user: user.uuid }, proof);
									say(`The second factor of ${name} is reset.`);
									onClose();
								}}
							/>
						</>
					) : (
						<p>
							You have no second factor yourself, and have to prove one.{" "}
							<a href="/console/account">Set one up first</a>.
						</p>
					)
				}
			</Show>
		</Dialog>
	);
}
