import type { ComponentChildren } from "preact";
import type { BatchExport, Organization, Page } from "tenantry-client";
import { NOTHING, readable, useLoad } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { Show } from "../../ui/feedback.tsx";
import { PageView, Section } from "../../ui/page.tsx";
import { Badge, Count, type Mood } from "../../ui/values.tsx";
import { useAccess } from "../plugins/access.ts";
import { Attention, attentionOf } from "./attention.tsx";
import { Exported } from "./exported.tsx";
import { FirstSteps } from "./first_steps.tsx";
import { type State, stateOf } from "./state.ts";

/** The number of objects of each kind that are loaded, newest first. */
const LIMIT = 50;

/** The number of projects and service accounts whose lists are loaded, with one request each. */
const MAX_LISTS = 20;

type Access = { isAdmin: boolean; canConfigure: boolean };

/** Returns the keys of service accounts, with their accounts. */
async function keysOfAccounts(organization: string, signal: AbortSignal) {
	const accounts = await readable(
		api.serviceAccounts.list({ organization, limit: MAX_LISTS }, { signal }),
	);
	const keys = accounts.results.map(async ({ id, name }) => {
		const of = { organization, account: id, limit: LIMIT };
		const { results } = await readable(api.serviceAccountKeys.list(of, { signal }));
		return results.map((key) => ({ ...key, account: { id, name } }));
	});
	return (await Promise.all(keys)).flat();
}

/** Loads what the overview shows. What the user isn't allowed to read is empty. */
async function load(organization: Organization, access: Access, signal: AbortSignal) {
	const of = { organization: organization.id, limit: LIMIT };
	const admins = <T,>(list: () => PromiseLike<Page<T>>) =>
		access.isAdmin ? readable(list()) : NOTHING;
	const projects = access.canConfigure ? organization.teams.slice(0, MAX_LISTS) : [];
	const [exports, domains, webhooks, streams, keys, accountKeys, configs] = await Promise.all([
		readable(api.batchExports.list(of, { signal })),
		readable(api.domains.list(of, { signal })),
		admins(() => api.webhooks.list(of, { signal })),
		admins(() => api.auditStreams.list(of, { signal })),
		readable(api.personalApiKeys.list({ limit: LIMIT }, { signal })),
		access.isAdmin ? keysOfAccounts(organization.id, signal) : [],
		Promise.all(
			projects.map(({ id }) =>
				readable(api.pluginConfigs.list({ project: id, limit: LIMIT }, { signal })),
			),
		),
	]);
	return {
		exports,
		domains,
		webhooks,
		streams: streams.results,
		keys: [...keys.results.map((key) => ({ ...key, account: null })), ...accountKeys],
		configs: configs.flatMap(({ results }) => results),
	};
}

const STATES: readonly (readonly [state: State, words: string, mood: Mood])[] = [
	["failing", "failing", "bad"],
	["paused", "paused", "warn"],
	["running", "running", "good"],
	["healthy", "healthy", "good"],
	["new", "waiting for the first run", "quiet"],
];

const States = ({ exports }: { exports: readonly BatchExport[] }) => (
	<>
		{STATES.map(([state, words, mood]) => {
			const count = exports.filter((found) => stateOf(found) === state).length;
			return (
				count > 0 && (
					<Badge key={state} mood={mood}>
						{count} {words}
					</Badge>
				)
			);
		})}
	</>
);

const Figure = ({
	path,
	name,
	value,
	children,
}: {
	path: string;
	name: string;
	value: number;
	children?: ComponentChildren;
}) => (
	<li class="panel">
		<a href={path}>{name}</a>
		<strong>
			<Count value={value} />
		</strong>
		<span class="row">{children}</span>
	</li>
);

export default function Overview() {
	const { organization, isAdmin, to } = useOrganization();
	const { id, name, member_count, teams } = organization;
	const { canConfigure } = useAccess();
	const loaded = useLoad(
		(signal) => load(organization, { isAdmin, canConfigure }, signal),
		[id, isAdmin, canConfigure],
	);
	const view = (found: NonNullable<typeof loaded.data>) => {
		const { exports, domains, webhooks } = found;
		const items = attentionOf(
			{
				...found,
				exports: exports.results,
				domains: isAdmin ? domains.results : [],
				webhooks: webhooks.results,
			},
			to,
		);
		const attention = (
			<Section title="Needs attention">
				<Attention items={items} />
			</Section>
		);
		const steps = isAdmin && (
			<FirstSteps
				exports={exports.count}
				hasVerifiedDomain={domains.results.some(({ is_verified }) => is_verified)}
				webhooks={webhooks.count}
			/>
		);
		return (
			<>
				{items.length > 0 && attention}
				{steps}
				{items.length === 0 && attention}
				<ul class="overview-figures">
					<Figure path={to("members")} name="Members" value={Number(member_count)} />
					<Figure path={to("projects")} name="Projects" value={teams.length} />
					<Figure path={to("batch_exports")} name="Batch exports" value={exports.count}>
						<States exports={exports.results} />
					</Figure>
				</ul>
				{exports.results.length > 0 && <Exported exports={exports.results} count={exports.count} />}
			</>
		);
	};
	return (
		<PageView title={name}>
			<Show of={loaded}>{view}</Show>
		</PageView>
	);
}
