import type { Identity } from "tenantry-client";
import { useLoad } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { SmallButton } from "../../ui/button.tsx";
import { confirm, Dialog } from "../../ui/dialog.tsx";
import { Show, say } from "../../ui/feedback.tsx";
import { providerName } from "../../ui/providers.ts";
import { nameOf, Time } from "../../ui/values.tsx";
import type { Person } from "./member_actions.tsx";

/** The accounts at providers that sign a member in, to unlink them (docs/sign-on.md#unlinking). */
export function SignInAccounts({ user, onClose }: { user: Person; onClose: () => void }) {
	const { at } = useOrganization();
	const member = { ...at, user: user.uuid };
	const loaded = useLoad((signal) => api.memberIdentities.list(member, { signal }), [user.uuid]);
	const name = nameOf(user);
	async function unlink({ id, method, email }: Identity) {
		const isSure = await confirm({
			title: `Unlink ${email} at ${providerName(method)}?`,
			text: `The sessions of ${name} that began there end. The next sign-in there links an account again, also another one with the same address.`,
			action: "Unlink",
		});
		if (!isSure) return;
		await api.memberIdentities.delete({ ...member, id });
		say(`${email} at ${providerName(method)} is unlinked.`);
		await loaded.reload();
	}
	return (
		<Dialog title={`Sign-in accounts of ${name}`} onClose={onClose}>
			<p>
				Accounts that sign {name} in through your domains. Unlink one if {name} now has another
				account at the provider.
			</p>
			<Show of={loaded}>
				{({ results }) =>
					results.length === 0 ? (
						<p class="quiet">None.</p>
					) : (
						<ul class="outcomes">
							{results.map((identity) => (
								<li key={identity.id}>
									<span>
										<strong>{providerName(identity.method)}</strong> {identity.email}
										<small class="below">
											Linked <Time value={identity.created_at} />
										</small>
									</span>
									<SmallButton onPress={() => unlink(identity)}>
										Unlink<span class="unseen"> {providerName(identity.method)}</span>
									</SmallButton>
								</li>
							))}
						</ul>
					)
				}
			</Show>
		</Dialog>
	);
}
