import type { Identity } from "tenantry-client";
import { useLoad } from "../../load.ts";
import { api } from "../../session.ts";
import { SmallButton } from "../../ui/button.tsx";
import { confirm } from "../../ui/dialog.tsx";
import { Show, say } from "../../ui/feedback.tsx";
import { Section } from "../../ui/page.tsx";
import { providerName } from "../../ui/providers.ts";
import { Time } from "../../ui/values.tsx";

const ME = { user: "@me" } as const;

const nameOf = ({ method, organization_name }: Identity) =>
	organization_name ? `${providerName(method)} of ${organization_name}` : providerName(method);

/** The accounts at providers that sign the user in (docs/sign-on.md#how-people-sign-in). */
export function Identities() {
	const loaded = useLoad((signal) => api.identities.list(ME, { signal }), []);
	async function remove(identity: Identity) {
		const isSure = await confirm({
			title: `Remove ${nameOf(identity)}?`,
			text: "Sessions that began there end, perhaps also this one. If you sign in there again, it is linked again.",
			action: "Remove",
		});
		if (!isSure) return;
		await api.identities.delete({ ...ME, id: identity.id });
		say(`${nameOf(identity)} is removed.`);
		await loaded.reload();
	}
	return (
		<Section title="Linked sign-ins">
			<Show of={loaded}>
				{({ results }) =>
					results.length === 0 ? (
						<p class="quiet">
							None. When you sign in through a provider, your account there is listed here.
						</p>
					) : (
						<ul class="outcomes">
							{results.map((identity) => (
								<li key={identity.id}>
									<span>
										<strong>{nameOf(identity)}</strong> {identity.email}
										<small class="below">
											Linked <Time value={identity.created_at} />
											{identity.last_used_at && (
												<>
													, last used <Time value={identity.last_used_at} />
												</>
											)}
										</small>
									</span>
									<SmallButton onPress={() => remove(identity)}>
										Remove {nameOf(identity)}
									</SmallButton>
								</li>
							))}
						</ul>
					)
				}
			</Show>
		</Section>
	);
}
