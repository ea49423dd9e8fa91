import { useState } from "preact/hooks";
import { useRoute } from "preact-iso/router";
import type { UpdateWebhookBody, Webhook } from "tenantry-client";
import { type Reloading, useList, useNavigate, useQuery } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { usePolling } from "../../polling.ts";
import { api } from "../../session.ts";
import { SecondaryButton, SmallButton } from "../../ui/button.tsx";
import { useSave } from "../../ui/conflict.tsx";
import { confirm } from "../../ui/dialog.tsx";
import { say, warn } from "../../ui/feedback.tsx";
import { Danger, DangerZone, PageView, Section } from "../../ui/page.tsx";
import { Facts, Time } from "../../ui/values.tsx";
import { WhoCanSee } from "../members/who_can_see.tsx";
import { OneForAdmins } from "./admins_only.tsx";
import { Deliveries } from "./deliveries.tsx";
import { wordsOfFormat } from "./formats.tsx";
import { HealthBadge, healthOf, hostOf, Types } from "./health.tsx";
import { ObjectActivity, ObjectTabs } from "./object_activity.tsx";
import { ReplayDialog } from "./replay.tsx";
import { EditDialog, RollDialog } from "./webhook_dialogs.tsx";

/** The interval of reloads. */
const POLL_MS = 10_000;

function State({ webhook, onReplay }: { webhook: Webhook; onReplay: () => void }) {
	const health = healthOf(webhook);
	const { failing_since, last_error, next_attempt_at, disabled_reason, missed_events } = webhook;
	return (
		<>
			{health === "failing" && (
				<div class="state bad" role="status">
					<p>
						<strong>
							Failing since <Time value={failing_since} />.
						</strong>{" "}
						The next attempt is <Time value={next_attempt_at} isRelative />. Later events wait until
						this event is delivered.
					</p>
					{last_error && <p class="said">{last_error}</p>}
					<SmallButton onPress={onReplay}>Replay or skip events</SmallButton>
				</div>
			)}
			{health === "disabled" && (
				<div class="state bad" role="status">
					<p>
						<strong>The service disabled this webhook.</strong> {disabled_reason} Fix the endpoint,
						then resume the webhook. Delivery continues where it stopped.
					</p>
					{last_error && <p class="said">{last_error}</p>}
				</div>
			)}
			{health === "paused" && (
				<div class="state warn" role="status">
					<p>
						<strong>Paused.</strong> Events wait for up to 365 days. After you resume the webhook,
						they are delivered in order.
					</p>
				</div>
			)}
			{missed_events > 0 && (
				<div class="state warn">
					<p>{missed_events} events were deleted after 365 days, before they could be delivered.</p>
				</div>
			)}
		</>
	);
}

function useActions(webhook: Webhook, reload: () => void, save: Save) {
	const { at, to } = useOrganization();
	const navigate = useNavigate();
	const host = hostOf(webhook.url);
	return {
		async test() {
			const { status, response_status, error } = await api.webhooks.test({ ...at, ...webhook });
			if (status === "delivered")
				say(`The test was delivered. The endpoint responded with ${response_status}.`);
			else warn(`The test wasn’t delivered. ${error}`);
			reload();
		},
		async enable(enabled: boolean) {
			await save(webhook, { enabled }, enabled ? "Resumed." : "Paused.");
		},
		async remove() {
			const isSure = await confirm({
				title: "Delete this webhook?",
				text: `No more events are sent to ${host}, including waiting events. For 30 days, it can be restored with its secret.`,
				action: "Delete webhook",
			});
			if (!isSure) return;
			await api.webhooks.delete({ ...at, ...webhook });
			say(`The webhook for ${host} is deleted.`, async () => {
				await api.webhooks.restore({ ...at, id: webhook.id });
				say(`The webhook for ${host} is restored.`);
				return to(`webhooks/${webhook.id}`);
			});
			navigate(to("webhooks"), true);
		},
	};
}

type Save = ReturnType<typeof useSaveWebhook>["save"];

const isStatus = (text: string | undefined) => text === "delivered" || text === "failed";

type Open = "edit" | "replay" | "roll" | undefined;

const SecretState = ({ webhook, onRoll }: { webhook: Webhook; onRoll: () => void }) => (
	<span class="row">
		{webhook.previous_secret_expires_at ? (
			<span>
				Rolled. The old secret works until <Time value={webhook.previous_secret_expires_at} />
			</span>
		) : (
			<span>Shown only once, after you added the webhook</span>
		)}
		<SmallButton onPress={onRoll}>Roll secret</SmallButton>
	</span>
);

const About = ({ webhook, onRoll }: { webhook: Webhook; onRoll: () => void }) => (
	<div class="panel">
		<Facts
			rows={[
				["Health", <HealthBadge webhook={webhook} />],
				["Sends to", wordsOfFormat(webhook.format)],
				["URL", <code class="address">{webhook.url}</code>],
				...(webhook.description ? ([["Description", webhook.description]] as const) : []),
				["Events", <Types types={webhook.types} />],
				["Added", <Time value={webhook.created_at} />],
				...(webhook.format === "standard"
					? ([["Secret", <SecretState webhook={webhook} onRoll={onRoll} />]] as const)
					: []),
			]}
		/>
	</div>
);

/** Loads the deliveries that match the filters in the URL. */
function useDeliveries(webhook: Webhook) {
	const { at } = useOrganization();
	const [{ status, type }] = useQuery();
	return useList(
		(page, signal) =>
			api.webhooks.listDeliveries(
				{
					...at,
					id: webhook.id,
					...page,
					...(isStatus(status) && { status }),
					...(type && { type }),
				},
				{ signal },
			),
		[webhook.id, status, type],
	);
}

function useSaveWebhook({ id }: Webhook, onSaved: () => Promise<unknown>) {
	const { at } = useOrganization();
	return useSave<Webhook, UpdateWebhookBody>({
		read: () => api.webhooks.get({ ...at, id }),
		update: (webhook, changes) => api.webhooks.update({ ...at, ...webhook }, changes),
		onSaved,
		labels: { url: "URL", description: "Description", types: "Events", enabled: "Enabled" },
	});
}

function Actions({
	webhook,
	actions,
	onEdit,
}: {
	webhook: Webhook;
	actions: ReturnType<typeof useActions>;
	onEdit: () => Promise<unknown>;
}) {
	const { to } = useOrganization();
	const button = (words: string, work: () => Promise<unknown>) => (
		<SecondaryButton onPress={work}>{words}</SecondaryButton>
	);
	return (
		<>
			{button("Send test", actions.test)}
			{webhook.enabled
				? button("Pause", () => actions.enable(false))
				: button("Resume", () => actions.enable(true))}
			<a class="button secondary" href={to(`webhooks/new?of=${webhook.id}`)}>
				Duplicate
			</a>
			{button("Edit", onEdit)}
		</>
	);
}

function Shown({ webhook, ...loaded }: { webhook: Webhook } & Reloading) {
	const { reload } = loaded;
	const { to } = useOrganization();
	const { tab = "" } = useRoute().params;
	const [open, setOpen] = useState<Open>();
	const deliveries = useDeliveries(webhook);
	const both = (name: "reload" | "refresh") => () => {
		loaded[name]();
		deliveries[name]();
	};
	const reloadAll = both("reload");
	// A failed load could replace the page, with a secret that is shown only once.
	usePolling(() => open === undefined && both("refresh")(), POLL_MS);
	const close = () => setOpen(undefined);
	const { save, dialog } = useSaveWebhook(webhook, reload);
	const edit = useSaveWebhook(webhook, async () => {
		await reload();
		close();
	});
	const actions = useActions(webhook, reloadAll, save);
	return (
		<PageView
			title={hostOf(webhook.url)}
			state={<WhoCanSee resource="webhook" id={webhook.id} />}
			above={[[to("webhooks"), "Webhooks"]]}
			actions={<Actions webhook={webhook} actions={actions} onEdit={async () => setOpen("edit")} />}
		>
			<ObjectTabs label="Webhook" path={to(`webhooks/${webhook.id}`)} tab={tab} />
			{tab === "activity" ? (
				<ObjectActivity scope="Webhook" id={webhook.id} />
			) : (
				<>
					<State webhook={webhook} onReplay={() => setOpen("replay")} />
					<About webhook={webhook} onRoll={() => setOpen("roll")} />
					<Section
						title="Deliveries"
						actions={<SecondaryButton onPress={() => setOpen("replay")}>Replay…</SecondaryButton>}
					>
						<Deliveries webhook={webhook} list={deliveries} onReplayed={reloadAll} />
					</Section>
					<DangerZone>
						<Danger
							title="Delete this webhook"
							text="It receives no more events, and its list of deliveries is deleted."
							action="Delete webhook"
							onPress={actions.remove}
						/>
					</DangerZone>
				</>
			)}
			{open === "edit" && <EditDialog webhook={webhook} save={edit.save} onClose={close} />}
			{open === "replay" && (
				<ReplayDialog webhook={webhook} onReplayed={reloadAll} onClose={close} />
			)}
			{open === "roll" && (
				<RollDialog
					webhook={webhook}
					onClose={() => {
						close();
						reload();
					}}
				/>
			)}
			{dialog}
			{edit.dialog}
		</PageView>
	);
}

export default function WebhookPage() {
	return (
		<OneForAdmins
			title="Webhook"
			above={["webhooks", "Webhooks"]}
			text="Webhooks receive events of all projects, including private ones."
			get={(parameters, options) => api.webhooks.get(parameters, options)}
		>
			{(webhook, loaded) => <Shown webhook={webhook} {...loaded} />}
		</OneForAdmins>
	);
}
