import { useState } from "preact/hooks";
import type {
	AuditStream,
	BatchExportTrial,
	Received,
	UpdateAuditStreamBody,
} from "tenantry-client";
import { useNavigate } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { Button } from "../../ui/button.tsx";
import { useSave } from "../../ui/conflict.tsx";
import { confirm, Dialog } from "../../ui/dialog.tsx";
import { say } from "../../ui/feedback.tsx";
import { Field, Form, text } from "../../ui/form.tsx";
import { Danger, DangerZone, PageView, Section } from "../../ui/page.tsx";
import { Count, Facts, Snippet, Time } from "../../ui/values.tsx";
import { OneForAdmins } from "./admins_only.tsx";
import { useEvery } from "./every.ts";
import {
	BucketFields,
	destinationChangesOf,
	LABELS,
	listed,
	placeOf,
	StateBadge,
	stateOf,
	TrialDialog,
} from "./stream.tsx";

type Row = Received<AuditStream, "auditStreams">;
type Save = (stream: Row, changes: UpdateAuditStreamBody) => Promise<boolean>;

/** How often the page looks how the stream is. */
const SECONDS = 20;

function EditDialog({ stream, save, onClose }: { stream: Row; save: Save; onClose: () => void }) {
	const [before] = useState(stream);
	const { type, config } = before.destination;
	return (
		<Dialog title="Edit audit stream" onClose={onClose}>
			<Form
				action="Save"
				onCancel={onClose}
				onSubmit={async (fields) => {
					const name = text(fields, "name");
					const destination = destinationChangesOf(before, fields);
					const isSaved = await save(before, {
						...(name !== before.name && { name }),
						...(destination && { destination }),
					});
					if (isSaved) say("The audit stream is saved.");
					return isSaved;
				}}
			>
				<Field name="name" label="Name" required maxLength={400} defaultValue={before.name} />
				<BucketFields type={type} config={config} hasKey />
			</Form>
		</Dialog>
	);
}

/** What is wrong, and what comes next; nothing if all is well. */
function State({ stream }: { stream: Row }) {
	const state = stateOf(stream);
	const { latest_error, next_attempt_at, missing_events } = stream;
	return (
		<>
			{state === "failing" && (
				<div class="state bad" role="status">
					<p>
						<strong>The last try failed.</strong> Nothing is lost: the file is written again{" "}
						<Time value={next_attempt_at} isRelative />, or at once when you change the bucket.
					</p>
					<p class="said">{latest_error}</p>
				</div>
			)}
			{state === "paused" && (
				<div class="state warn" role="status">
					<p>
						<strong>Paused.</strong> When you resume it, it goes on where it stopped. Entries are
						kept for 365 days.
					</p>
				</div>
			)}
			{missing_events > 0 && (
				<div class="state warn">
					<p>
						<strong>
							<Count value={missing_events} /> entries are missing.
						</strong>{" "}
						They were deleted because of their age before they could be written.
					</p>
				</div>
			)}
		</>
	);
}

/** What can be compared with a copy of the files. */
const Proof = ({ stream }: { stream: Row }) => (
	<Section title="Proof">
		<p class="lead">
			Each line of the files has the digest of the line before. Keep the last digest where those who
			can write to the bucket can’t, and check a copy of the files with it.
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
			<p>The digest appears here with the first file.</p>
		)}
	</Section>
);

const factsOf = (stream: Row) =>
	[
		["State", <StateBadge stream={stream} />],
		["Files", <code class="address">{placeOf(stream)}</code>],
		...(typeof stream.destination.config.endpoint_url === "string"
			? [["Endpoint", stream.destination.config.endpoint_url] as const]
			: []),
		["Complete until", <Time value={stream.delivered_until} />],
		[
			"Last file",
			stream.last_file === null ? (
				"None yet: a file is written after each full hour in which something happened"
			) : (
				<>
					<code class="address">{stream.last_file}</code>
					<small class="below">
						Number <Count value={stream.sequence} />, written{" "}
						<Time value={stream.last_delivered_at} />
					</small>
				</>
			),
		],
		["Entries", <Count value={stream.delivered_events} />],
		...(stream.next_attempt_at
			? [["Next try", <Time value={stream.next_attempt_at} />] as const]
			: []),
		["Added", <Time value={stream.created_at} />],
	] as const;

const BODY = Symbol("what is sent");

/** What changes in words, and as it is sent. */
type Changes = Record<string, unknown> & { [BODY]: UpdateAuditStreamBody };

const useSaveStream = (stream: Row, onSaved: () => Promise<unknown>) =>
	useSave<Row, Changes>({
		read: () => api.auditStreams.get(stream),
		update: (object, changes, options) => api.auditStreams.update(object, changes[BODY], options),
		onSaved,
		labels: LABELS,
		fields: (stream) => ({ ...stream, ...stream.destination.config }),
	});

const changesOf = (body: UpdateAuditStreamBody) => Object.assign(listed(body), { [BODY]: body });

function Shown({ stream, reload }: { stream: Row; reload: () => Promise<unknown> }) {
	const { to } = useOrganization();
	const navigate = useNavigate();
	const [isEditing, setEditing] = useState(false);
	const [trial, setTrial] = useState<BatchExportTrial>();
	// A load that fails replaces the page, and with it what is just being typed.
	useEvery(SECONDS, () => !isEditing && !trial && reload());
	const { save, dialog } = useSaveStream(stream, reload);
	const edit = useSaveStream(stream, async () => {
		await reload();
		setEditing(false);
	});
	async function enable(enabled: boolean) {
		if (await save(stream, changesOf({ enabled }))) say(enabled ? "Resumed." : "Paused.");
	}
	async function remove() {
		const isSure = await confirm({
			title: `Delete ${stream.name}?`,
			text: "Its files stay in the bucket. What isn’t written yet won’t be. This can’t be undone.",
			action: "Delete audit stream",
			typed: stream.name,
		});
		if (!isSure) return;
		await api.auditStreams.delete(stream);
		say(`${stream.name} is deleted.`);
		navigate(to("audit_streams"), true);
	}
	const button = (words: string, work: () => Promise<unknown>) => (
		<Button class="secondary outline" onPress={work}>
			{words}
		</Button>
	);
	return (
		<PageView
			title={stream.name}
			above={[[to("audit_streams"), "Audit streams"]]}
			actions={
				<>
					{button("Test bucket", async () => setTrial(await api.auditStreams.test(stream, {})))}
					{stream.enabled
						? button("Pause", () => enable(false))
						: button("Resume", () => enable(true))}
					{button("Edit", async () => setEditing(true))}
				</>
			}
		>
			<State stream={stream} />
			<div class="panel">
				<Facts rows={[...factsOf(stream)]} />
			</div>
			<Proof stream={stream} />
			<DangerZone>
				<Danger
					title="Delete this audit stream"
					text="Its files stay in the bucket. What isn’t written yet won’t be."
				>
					<Button class="danger" onPress={remove}>
						Delete audit stream
					</Button>
				</Danger>
			</DangerZone>
			{isEditing && (
				<EditDialog
					stream={stream}
					save={(before, body) => edit.save(before, changesOf(body))}
					onClose={() => setEditing(false)}
				/>
			)}
			{trial && <TrialDialog trial={trial} onClose={() => setTrial(undefined)} />}
			{dialog}
			{edit.dialog}
		</PageView>
	);
}

/** One audit stream: how it is, and what its files can be checked with. */
export default function AuditStreamPage() {
	return (
		<OneForAdmins
			title="Audit stream"
			text="Audit streams carry what happens in all projects, also in private ones."
			get={(parameters, options) => api.auditStreams.get(parameters, options)}
		>
			{(stream, { reload }) => <Shown stream={stream} reload={reload} />}
		</OneForAdmins>
	);
}
