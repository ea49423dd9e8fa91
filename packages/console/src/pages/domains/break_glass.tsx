import type { Domain } from "tenantry-client";
import { useLoad } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { Show } from "../../ui/feedback.tsx";
import { Form, Select, text } from "../../ui/form.tsx";
import { Section } from "../../ui/page.tsx";
import { useSaveDomain } from "./save.ts";

/** The number of members that are offered. */
const MAX_OFFERED = 200;

/** Naming members who can sign in if the provider fails (docs/sign-on.md#break-glass). */
export function BreakGlass({ domain, reload }: { domain: Domain; reload: () => Promise<unknown> }) {
	const { at } = useOrganization();
	const people = useLoad(
		(signal) =>
			api.members.list({ ...at, search: `@${domain.domain}`, limit: MAX_OFFERED }, { signal }),
		[domain.domain],
	);
	const { save, dialog, version } = useSaveDomain(domain.id, reload);
	return (
		<Section title="If the provider fails">
			<p>
				Up to two members can also sign in with a link by mail and their second factor. Each time,
				the owners get a mail. Only people with a second factor are listed.
			</p>
			<Show of={people}>
				{({ results }) => {
					const able = results.filter(
						({ user, is_2fa_enabled }) =>
							(is_2fa_enabled && user.email.endsWith(`@${domain.domain}`)) ||
							domain.break_glass.includes(user.uuid),
					);
					const options = [
						["", "Nobody"] as const,
						...able.map(({ user }) => [user.uuid, user.email] as const),
					];
					return (
						<Form
							key={version}
							action="Save members"
							showsSaved
							isSecondary
							onSubmit={async (fields) => {
								const chosen = [text(fields, "break_glass"), text(fields, "break_glass_2")];
								const break_glass = [...new Set(chosen.filter(Boolean))];
								return save(domain, { break_glass }, "The members are saved.");
							}}
						>
							<Select
								name="break_glass"
								label="First member"
								options={options}
								defaultValue={domain.break_glass[0] ?? ""}
							/>
							<Select
								name="break_glass_2"
								label="Second member"
								options={options}
								defaultValue={domain.break_glass[1] ?? ""}
							/>
						</Form>
					);
				}}
			</Show>
			{dialog}
		</Section>
	);
}
