import { useEffect, useState } from "preact/hooks";
import lazy from "preact-iso/lazy";
import { useRoute } from "preact-iso/router";
import { useLoad, useNavigate, useQuery } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { usePolling } from "../../polling.ts";
import { api } from "../../session.ts";
import { SecondaryButton } from "../../ui/button.tsx";
import { LoadedPage, PageView, Tabs } from "../../ui/page.tsx";
import { nameOf, Time } from "../../ui/values.tsx";
import { WhoCanSee } from "../members/who_can_see.tsx";
import { placeOf, wordsOfType } from "./destinations.ts";
import { BUSY_MS, IDLE_MS } from "./intervals.ts";
import { Runs } from "./runs.tsx";
import {
	ExportState,
	failureOf,
	hasEnded,
	type Opened,
	Squares,
	wordsOfModel,
	wordsOfSchedule,
} from "./states.tsx";

const Backfills = lazy(() => import("./backfills.tsx"));
const ExportLog = lazy(() => import("./log.tsx"));
const Settings = lazy(() => import("./settings.tsx"));
const Metrics = lazy(() => import("./metrics.tsx"));
const Pause = lazy(() => import("./pause.tsx"));
const Unpause = lazy(() => import("./unpause.tsx"));

const Activity = lazy(() => import("./activity.tsx"));

const TABS = [
	["", "Runs", Runs],
	["backfills", "Backfills", Backfills],
	["log", "Log", ExportLog],
	["metrics", "Metrics", Metrics],
	["activity", "Activity", Activity],
	["settings", "Settings", Settings],
] as const;

/**
 * Who paused the export. The log has only what people did: if the service paused it, its last runs
 * have failed.
 */
function Paused({ of, at }: Pick<Opened, "of" | "at">) {
	const loaded = useLoad(
		(signal) =>
			api.activityLog.list(
				{
					organization: at.organization,
					scope: "BatchExport",
					item_id: of.id,
					activity: "paused",
					limit: 1,
				},
				{ signal },
			),
		[of.id, of.last_paused_at],
	);
	const [entry] = loaded.data?.results ?? [];
	if (!loaded.data) return null;
	const isThis = entry?.detail.changes.some(
		({ field, after }) => field === "last_paused_at" && after === of.last_paused_at,
	);
	const who = entry?.user ? `by ${nameOf(entry.user)}` : "by the operator";
	const hasFailed = of.latest_runs[0]?.status.startsWith("Failed");
	return (
		<p>
			Paused <Time value={of.last_paused_at} isRelative />
			{isThis ? ` ${who}` : hasFailed && " by the service"}
			{of.pause_note ? `: ${of.pause_note}` : "."}
		</p>
	);
}

function Head({ of, at, path, isFirst }: Opened & { isFirst: boolean }) {
	const { organization } = useOrganization();
	const project = organization.teams.find(({ id }) => id === of.team_id);
	const place = placeOf(of.destination);
	const failure = failureOf(of);
	return (
		<div class="export-head">
			<p class="export-facts">
				<ExportState of={of} />
				<span>{wordsOfSchedule(of)}</span>
				<span>
					{wordsOfModel(of.model)} of {project?.name ?? `project ${of.team_id}`}
				</span>
				<span>
					{wordsOfType(of.destination.type)}
					{place && <span class="soft"> · {place}</span>}
				</span>
			</p>
			<Squares of={of} path={path} />
			{of.paused && <Paused of={of} at={at} />}
			{failure && !isFirst && (
				<div class="problem export-failure">
					<p>
						<strong>The last run failed.</strong> {failure.latest_error}
					</p>
					<a href={`${path}/runs/${failure.id}`}>View run</a>
				</div>
			)}
		</div>
	);
}

function Export({ opened, tab }: { opened: Opened; tab: string }) {
	const { of, at, path, reload, refresh } = opened;
	const isBusy = of.latest_runs.some((run) => !hasEnded(run));
	// Don't reload while the user edits the settings.
	usePolling(refresh, isBusy ? BUSY_MS : IDLE_MS, tab !== "settings");
	const { to } = useOrganization();
	// The palette leads to these dialogs.
	const [{ do: asked }] = useQuery();
	const [isUnpausing, setUnpausing] = useState(asked === "resume" && of.paused);
	const [isPausing, setPausing] = useState(asked === "pause" && !of.paused);
	const [, , Content] = TABS.find(([name]) => name === tab) ?? TABS[0];
	return (
		<PageView
			title={of.name}
			above={[[to("batch_exports"), "Batch exports"]]}
			state={<WhoCanSee resource="batch_export" id={of.id} />}
			actions={
				<SecondaryButton onPress={() => (of.paused ? setUnpausing(true) : setPausing(true))}>
					{of.paused ? "Resume" : "Pause"}
				</SecondaryButton>
			}
		>
			<Head {...opened} isFirst={tab === ""} />
			<Tabs
				label="About this export"
				current={tab ? `${path}/${tab}` : path}
				tabs={TABS.map(([name, words]) => [name ? `${path}/${name}` : path, words] as const)}
			/>
			<Content {...opened} />
			{isPausing && <Pause {...opened} onClose={() => setPausing(false)} />}
			{isUnpausing && (
				<Unpause of={of} at={at} onClose={() => setUnpausing(false)} onDone={reload} path={path} />
			)}
		</PageView>
	);
}

/**
 * The page of an export: runs, backfills, log, metrics and settings
 * (docs/console.md#batch-exports).
 */
export default function ExportPage() {
	const { id = "", tab = "" } = useRoute().params;
	const { organization, to } = useOrganization();
	const at = { organization: organization.id, id };
	const loaded = useLoad((signal) => api.batchExports.get(at, { signal }), Object.values(at));
	const { data, reload, refresh } = loaded;
	const navigate = useNavigate();
	const [run] = data?.latest_runs ?? [];
	const isOnce = typeof data?.expires_at === "string";
	// A one-off export has only its run.
	useEffect(() => {
		if (isOnce && run) navigate(to(`batch_exports/${id}/runs/${run.id}`), true);
	}, [isOnce, run?.id]);
	return (
		<LoadedPage of={loaded} title="Batch export" above={[[to("batch_exports"), "Batch exports"]]}>
			{(of) => (
				<Export opened={{ of, at, path: to(`batch_exports/${id}`), reload, refresh }} tab={tab} />
			)}
		</LoadedPage>
	);
}
