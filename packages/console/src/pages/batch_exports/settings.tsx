import { useRef, useState } from "preact/hooks";
import lazy from "preact-iso/lazy";
import type { BatchExport, UpdateBatchExportBody } from "tenantry-client";
import { useNavigate } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { useSave } from "../../ui/conflict.tsx";
import { confirm } from "../../ui/dialog.tsx";
import { say } from "../../ui/feedback.tsx";
import { Form, text } from "../../ui/form.tsx";
import { fromLocal, toLocal } from "../../ui/moments.ts";
import { Danger, DangerZone, Section } from "../../ui/page.tsx";
import { besideSettings, changesOf, labelOf } from "../../ui/settings.ts";
import { isSecret, settingsOf } from "./destination_settings.ts";
import { chosen, clockIn, ExportFields, updateWith } from "./fields.tsx";
import { INTERVALS, MODELS, type Opened } from "./states.tsx";
import { useTrial } from "./trial.tsx";

const Copy = lazy(() => import("./copy.tsx"));

/**
 * An export with its settings next to its other fields, which the dialog for conflicts compares.
 */
type Flat = Record<string, unknown> & { source: BatchExport };

const flat = (source: BatchExport): Flat => ({ ...source, ...source.destination.config, source });

const LABELS: Record<string, string> = {
	name: "Name",
	model: "Rows",
	interval: "Interval",
	time_zone: "Time zone",
	hour: "Begins at",
	weekday: "Begins on",
	xql_query: "Query",
	start_at: "Not before",
	end_at: "Not after",
};

const sameMoment = (value: string, stored: string | null) =>
	value === (stored === null ? "" : toLocal(Date.parse(stored)));

/** Returns the changed fields that say when windows begin. An empty one is the default. */
function changedClock(of: BatchExport, fields: FormData) {
	const { time_zone, hour, weekday } = clockIn(fields);
	const isMonday = of.weekday === "monday";
	return {
		...(time_zone !== undefined && time_zone !== of.time_zone && { time_zone }),
		...(hour !== undefined && hour !== (of.hour || null) && { hour }),
		...(weekday !== undefined && weekday !== (isMonday ? null : of.weekday) && { weekday }),
	};
}

/** Returns only the changed fields. */
function updateOf(of: BatchExport, fields: FormData): UpdateBatchExportBody {
	const { type, config } = of.destination;
	const name = text(fields, "name");
	const model = chosen(fields, "model", MODELS);
	const interval = chosen(fields, "interval", INTERVALS);
	const xql_query = text(fields, "xql_query") || null;
	const [start, end] = [text(fields, "start_at"), text(fields, "end_at")];
	const changes = changesOf(settingsOf(type), fields, config);
	return {
		...(name !== of.name && { name }),
		...(model !== of.model && { model }),
		...(interval !== of.interval && { interval }),
		...changedClock(of, fields),
		...(xql_query !== of.xql_query && { xql_query }),
		...(!sameMoment(start, of.start_at) && { start_at: fromLocal(start) }),
		...(!sameMoment(end, of.end_at) && { end_at: fromLocal(end) }),
		...(Object.keys(changes).length > 0 && { destination: updateWith({ type, config: changes }) }),
	};
}

/**
 * Returns the changes for the dialog for conflicts: settings next to the other fields, secrets
 * masked.
 */
function listed(type: string, { destination, ...others }: UpdateBatchExportBody) {
	const config = Object.entries(destination?.config ?? {}).map(([name, value]) => [
		name,
		isSecret(type, name) ? "New value" : value,
	]);
	return { ...others, ...Object.fromEntries(config) };
}

/** Counts what is deleted with an export. */
async function historyOf(at: Opened["at"], signal: AbortSignal) {
	const [runs, backfills] = await Promise.all([
		api.batchExports.listRuns({ ...at, limit: 1 }, { signal }),
		api.batchExports.listBackfills({ ...at, limit: 1 }, { signal }),
	]);
	return [
		{ count: runs.count, words: ["run", "runs"] as const },
		{ count: backfills.count, words: ["backfill", "backfills"] as const },
	];
}

async function remove(
	{ of, at }: Opened,
	{ to, navigate }: { to: (path: string) => string; navigate: (url: string) => void },
) {
	const { Going } = await import("../../ui/going.tsx");
	const isSure = await confirm({
		title: `Delete “${of.name}”?`,
		text: (
			<>
				<p>
					Its runs and backfills are cancelled. Exported data stays at the destination. For 30 days,
					it can be restored. What passes meanwhile isn't exported then, but can be with a backfill.
				</p>
				<Going load={(signal) => historyOf(at, signal)} />
			</>
		),
		action: "Delete export",
		typed: of.name,
	});
	if (!isSure) return;
	await api.batchExports.delete(at);
	say(`“${of.name}” is deleted.`, async () => {
		const { gaps } = await api.batchExports.restore(at);
		say(
			gaps.length > 0
				? `“${of.name}” is restored. Its overview shows what wasn't exported meanwhile.`
				: `“${of.name}” is restored.`,
		);
		return to(`batch_exports/${of.id}`);
	});
	navigate(to("batch_exports"));
}

const useSaveExport = (
	{ of, at, reload }: Opened,
	body: { current: UpdateBatchExportBody },
	onRead: (of: BatchExport) => void,
) =>
	useSave<Flat, Record<string, unknown>>({
		read: async () => flat(await api.batchExports.get(at)),
		update: async ({ source }) =>
			flat(await api.batchExports.update({ ...at, ...source }, body.current)),
		onSaved: async () => {
			const read = await reload();
			if (read) onRead(read);
		},
		labels: {
			...LABELS,
			...Object.fromEntries(
				settingsOf(of.destination.type).map(({ name }) => [name, labelOf(name)]),
			),
		},
	});

/** The dialogs that make a copy. */
function Copies(opened: Opened) {
	const [open, setOpen] = useState<"copy" | "move">();
	return (
		<Section title="Copies">
			<div class="panel dangers">
				<Danger
					title="Duplicate this export"
					text="The copy has the same settings and secrets, and is paused."
					action="Duplicate"
					look="secondary"
					onPress={async () => setOpen("copy")}
				/>
				<Danger
					title="Move to another destination"
					text="A copy continues where this export stops, and exports what it hasn't delivered."
					action="Move"
					look="secondary"
					onPress={async () => setOpen("move")}
				/>
			</div>
			{open && <Copy {...opened} moves={open === "move"} onClose={() => setOpen(undefined)} />}
		</Section>
	);
}

export default function Settings(opened: Opened) {
	const { of, at } = opened;
	const { to } = useOrganization();
	const navigate = useNavigate();
	const { type } = of.destination;
	const trial = useTrial();
	/**
	 * The export that the form started with. Pausing reloads the export, which others may have
	 * changed.
	 */
	const [before, setBefore] = useState(of);
	/** The request body with secrets, which aren't passed to the dialog for conflicts. */
	const body = useRef<UpdateBatchExportBody>({});
	const { save, dialog, version } = useSaveExport(opened, body, setBefore);

	async function submit(fields: FormData) {
		body.current = updateOf(before, fields);
		if (Object.keys(body.current).length === 0) return say("No changes to save.");
		return besideSettings(settingsOf(type), () =>
			save(flat(before), listed(type, body.current), "The export is saved."),
		);
	}

	async function test(fields: FormData) {
		const { destination, model, xql_query } = updateOf(before, fields);
		await besideSettings(settingsOf(type), () =>
			trial.run(type, () => api.batchExports.test(at, { destination, model, xql_query })),
		);
	}

	return (
		<>
			<Form
				key={version}
				action="Save changes"
				showsSaved
				others={[["Test destination", test]]}
				onSubmit={submit}
			>
				<ExportFields of={before} onChange={trial.clear} />
				{trial.panel}
			</Form>
			{dialog}
			<Copies {...opened} />
			<DangerZone>
				<Danger
					title="Delete this export"
					text="Its runs and backfills are cancelled. Exported data stays at the destination."
					action="Delete export"
					onPress={() => remove(opened, { to, navigate })}
				/>
			</DangerZone>
		</>
	);
}
