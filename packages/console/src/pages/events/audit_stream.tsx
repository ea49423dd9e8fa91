import { useState } from "preact/hooks";
import type { AuditStream, BatchExportTrial, UpdateAuditStreamBody } from "tenantry-client";
import { streamSubject } from "tenantry-subjects";
import { type Reloading, useNavigate } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { usePolling } from "../../polling.ts";
import { api } from "../../session.ts";
import { SecondaryButton } from "../../ui/button.tsx";
import { useSave } from "../../ui/conflict.tsx";
import { confirm } from "../../ui/dialog.tsx";
import { say } from "../../ui/feedback.tsx";
import { Field, FormDialog, text } from "../../ui/form.tsx";
import { Danger, DangerZone, PageView, Section } from "../../ui/page.tsx";
import { SettingFields } from "../../ui/setting_fields.tsx";
import { besideSettings } from "../../ui/settings.ts";
import { Count, Facts, Snippet, Time } from "../../ui/values.tsx";
import { OneForAdmins } from "./admins_only.tsx";
import { settingsOf, typeOf, wordsOfType } from "./sinks.ts";
import {
	destinationChangesOf,
	labelsOf,
	listed,
	placeOf,
	StateBadge,
	stateOf,
	TrialDialog,
} from "./stream.tsx";

type Save = (stream: AuditStream, changes: UpdateAuditStreamBody, note: string) => Promise<boolean>;

/** The interval of reloads. */
const POLL_MS = 20_000;

function EditDialog({
	stream,
	save,
	onClose,
}: {
	stream: AuditStream;
	save: Save;
	onClose: () => void;
}) {
	const { organization } = useOrganization();
	const [before] = useState(stream);
	const { type, config } = before.destination;
	return (
		<FormDialog
			title="Edit audit stream"
			action="Save"
			onClose={onClose}
			onSubmit={async (fields) => {
				const name = text(fields, "name");
				const destination = destinationChangesOf(before, fields);
				return besideSettings(settingsOf(type), () =>
					save(
						before,
						{
							...(name !== before.name && { name }),
							...(destination && { destination }),
						},
						"The audit stream is saved.",
					),
				);
			}}
		>
			<Field name="name" label="Name" required maxLength={400} defaultValue={before.name} />
			<SettingFields
				type={type}
				settings={settingsOf(type)}
				config={config}
				subject={streamSubject({ organization: organization.id, id: stream.id })}
			/>
		</FormDialog>
	);
}

function State({ stream }: { stream: AuditStream }) {
	const state = stateOf(stream);
	const { latest_error, next_attempt_at, missing_events } = stream;
	return (
		<>
			{state === "failing" && (
				<div class="state bad" role="status">
					<p>
						<strong>The last attempt failed.</strong> No entries are lost. The next attempt is{" "}
						<Time value={next_attempt_at} isRelative />, or immediately after you change the
						destination.
					</p>
					<p class="said">{latest_error}</p>
				</div>
			)}
			{state === "paused" && (
				<div class="state warn" role="status">
					<p>
						<strong>Paused.</strong> After you resume the stream, it continues where it stopped.
						Entries are kept for 365 days.
					</p>
				</div>
			)}
			{missing_events > 0 && (
				<div class="state warn">
					<p>
						<strong>
							<Count value={missing_events} /> entries are missing.
						</strong>{" "}
						They were deleted after 365 days, before they could be written.
					</p>
				</div>
			)}
		</>
	);
}

/** Shows the last digest, and the command that checks a copy of the files. */
const Proof = ({ stream }: { stream: AuditStream }) => (
	<Section title="Proof">
		<p class="lead">
			Each line of the files contains the digest of the previous line. Store the last digest in a
			place that people with access to the bucket can’t change. Then use it to check a copy of the
			files.
		</p>
		{stream.sequence > 0 ? (
			<>
				<h3>Digest after file {stream.sequence}</h3>
				<Snippet value={stream.digest} label="Copy digest" />
				<h3>Check a copy</h3>
				<Snippet
					value={`npm run admin -- audit verify FOLDER --head ${stream.digest}`}
					label="Copy command"
				/>
			</>
		) : (
			<p>The digest appears here after the first file is written.</p>
		)}
	</Section>
);

const factsOf = (stream: AuditStream, organization: string) =>
	[
		["State", <StateBadge stream={stream} />],
		["Destination", wordsOfType(stream.destination.type)],
		["Place", <code class="address">{placeOf(stream, organization)}</code>],
		["Format", stream.destination.config.format === "OCSF" ? "OCSF" : "Tenantry"],
		...(typeof stream.destination.config.endpoint_url === "string"
			? [["Endpoint", stream.destination.config.endpoint_url] as const]
			: []),
		["Complete until", <Time value={stream.delivered_until} />],
		[
			"Last file",
			stream.sequence === 0 ? (
				"None yet. A file is written after each full hour that has entries."
			) : (
				<>
					{stream.last_file && <code class="address">{stream.last_file}</code>}
					<small class="below">
						File <Count value={stream.sequence} />, written{" "}
						<Time value={stream.last_delivered_at} />
					</small>
				</>
			),
		],
		["Entries", <Count value={stream.delivered_events} />],
		...(stream.next_attempt_at
			? [["Next attempt", <Time value={stream.next_attempt_at} />] as const]
			: []),
		["Added", <Time value={stream.created_at} />],
	] as const;

const BODY = Symbol("request body");

/** Changes as labels and values, with the request body. */
type Changes = Record<string, unknown> & { [BODY]: UpdateAuditStreamBody };

function useSaveStream({ id, destination }: AuditStream, onSaved: () => Promise<unknown>) {
	const { at } = useOrganization();
	return useSave<AuditStream, Changes>({
		read: () => api.auditStreams.get({ ...at, id }),
		update: (stream, changes) => api.auditStreams.update({ ...at, ...stream }, changes[BODY]),
		onSaved,
		labels: labelsOf(destination.type),
		fields: (stream) => ({ ...stream, ...stream.destination.config }),
	});
}

const changesOf = (type: string, body: UpdateAuditStreamBody) =>
	Object.assign(listed(type, body), { [BODY]: body });

function Delete({ stream }: { stream: AuditStream }) {
	const { at, to } = useOrganization();
	const navigate = useNavigate();
	async function remove() {
		const isSure = await confirm({
			title: `Delete ${stream.name}?`,
			text: "What was delivered stays. Entries that aren’t delivered yet won’t be delivered. This can’t be undone.",
			action: "Delete audit stream",
			typed: stream.name,
		});
		if (!isSure) return;
		await api.auditStreams.delete({ ...at, ...stream });
		say(`${stream.name} is deleted.`);
		navigate(to("audit_streams"), true);
	}
	return (
		<Danger
			title="Delete this audit stream"
			text="What was delivered stays. Entries that aren’t delivered yet won’t be delivered."
			action="Delete audit stream"
			onPress={remove}
		/>
	);
}

function Shown({ stream, reload, refresh }: { stream: AuditStream } & Reloading) {
	const { at, organization, to } = useOrganization();
	const { type } = stream.destination;
	const [isEditing, setEditing] = useState(false);
	const [trial, setTrial] = useState<BatchExportTrial>();
	// A failed load could replace the page, with the input of an open dialog.
	usePolling(() => !isEditing && !trial && refresh(), POLL_MS);
	const { save, dialog } = useSaveStream(stream, reload);
	const edit = useSaveStream(stream, async () => {
		await reload();
		setEditing(false);
	});
	async function enable(enabled: boolean) {
		await save(stream, changesOf(type, { enabled }), enabled ? "Resumed." : "Paused.");
	}
	const button = (words: string, work: () => Promise<unknown>) => (
		<SecondaryButton onPress={work}>{words}</SecondaryButton>
	);
	return (
		<PageView
			title={stream.name}
			above={[[to("audit_streams"), "Audit streams"]]}
			actions={
				<>
					{button("Test destination", async () =>
						setTrial(await api.auditStreams.test({ ...at, ...stream }, {})),
					)}
					{stream.enabled
						? button("Pause", () => enable(false))
						: button("Resume", () => enable(true))}
					{button("Edit", async () => setEditing(true))}
				</>
			}
		>
			<State stream={stream} />
			<div class="panel">
				<Facts rows={[...factsOf(stream, organization.id)]} />
			</div>
			{typeOf(type)?.kind === "files" && <Proof stream={stream} />}
			<DangerZone>
				<Delete stream={stream} />
			</DangerZone>
			{isEditing && (
				<EditDialog
					stream={stream}
					save={(before, body, note) => edit.save(before, changesOf(type, body), note)}
					onClose={() => setEditing(false)}
				/>
			)}
			{trial && <TrialDialog trial={trial} onClose={() => setTrial(undefined)} />}
			{dialog}
			{edit.dialog}
		</PageView>
	);
}

export default function AuditStreamPage() {
	return (
		<OneForAdmins
			title="Audit stream"
			above={["audit_streams", "Audit streams"]}
			text="Audit streams contain events of all projects, including private ones."
			get={(parameters, options) => api.auditStreams.get(parameters, options)}
		>
			{(stream, loaded) => <Shown stream={stream} {...loaded} />}
		</OneForAdmins>
	);
}
