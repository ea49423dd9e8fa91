import type { Session } from "tenantry-client";
import { listOf, useLoad } from "../../load.ts";
import { api } from "../../session.ts";
import { deviceOf } from "../../ui/browsers.ts";
import { SecondaryButton, SmallButton } from "../../ui/button.tsx";
import { confirm } from "../../ui/dialog.tsx";
import { Show, say } from "../../ui/feedback.tsx";
import { Section } from "../../ui/page.tsx";
import { providerName } from "../../ui/providers.ts";
import { buttons, Table } from "../../ui/table.tsx";
import { Badge, Time } from "../../ui/values.tsx";

const ME = { user: "@me" } as const;

/** The sessions of the user (docs/keys.md#your-sessions). */
export function Sessions() {
	const loaded = useLoad((signal) => api.sessions.list(ME, { signal }), []);
	async function end(session: Session) {
		const isSure = await confirm({
			title: `End the session of ${deviceOf(session)}?`,
			text: "Whoever uses it has to sign in again.",
			action: "End session",
		});
		if (!isSure) return;
		await api.sessions.end({ ...ME, id: session.id });
		say("The session is ended.");
		await loaded.reload();
	}
	async function endOthers() {
		const isSure = await confirm({
			title: "End all other sessions?",
			text: "Only this one continues. Your API keys stay.",
			action: "End sessions",
		});
		if (!isSure) return;
		await api.sessions.endOther(ME);
		say("Your other sessions are ended.");
		await loaded.reload();
	}
	return (
		<Section title="Sessions">
			<Show of={loaded}>
				{({ results }) => (
					<>
						<Table
							list={listOf([...results])}
							label="Sessions"
							empty={<p class="quiet">None. You signed in with an API key.</p>}
							columns={[
								{
									title: "Where",
									cell: (session) => (
										<>
											<strong>{deviceOf(session)}</strong>{" "}
											{session.is_current && <Badge mood="good">This session</Badge>}
											{session.address && <small class="below">{session.address}</small>}
										</>
									),
								},
								{
									title: "Signed in",
									cell: ({ created_at, method }) => (
										<>
											<Time value={created_at} />
											<small class="below">{providerName(method)}</small>
										</>
									),
								},
								{
									title: "Last used",
									cell: ({ last_used_at }) => <Time value={last_used_at} isRelative />,
								},
								buttons<Session>(
									(session) =>
										!session.is_current && (
											<SmallButton onPress={() => end(session)}>End</SmallButton>
										),
								),
							]}
						/>
						{results.some((session) => !session.is_current) && (
							<SecondaryButton onPress={endOthers}>End all other sessions</SecondaryButton>
						)}
					</>
				)}
			</Show>
		</Section>
	);
}
