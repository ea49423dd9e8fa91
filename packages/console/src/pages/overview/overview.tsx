import type { ComponentChildren } from "preact";
import {
	type BatchExport,
	type Domain,
	type Page,
	type PersonalApiKey,
	TenantryError,
	type Webhook,
} from "tenantry-client";
import { useLoad } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { Show } from "../../ui/feedback.tsx";
import { PageView, Section } from "../../ui/page.tsx";
import { Badge, Count, type Mood } from "../../ui/values.tsx";
import { Attention, attentionOf } from "./attention.tsx";
import { Exported } from "./exported.tsx";
import { FirstSteps } from "./first_steps.tsx";
import { type State, stateOf } from "./state.ts";

/** The number of objects of each kind that are loaded, newest first. */
const LIMIT = 50;

const NOTHING = { count: 0, next: null, previous: null, results: [] };

/** Returns a page of a list; an empty page if the user isn't allowed to read it. */
async function readable<T>(page: PromiseLike<Page<T>>): Promise<Page<T>> {
	try {
		return await page;
	} catch (error) {
		if (error instanceof TenantryError && error.status === 403) return NOTHING;
		throw error;
	}
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
	const loaded = useLoad(
		async (signal) => {
			const of = { organization: id, limit: LIMIT };
			const [exports, domains, webhooks, keys] = await Promise.all([
				readable<BatchExport>(api.batchExports.list(of, { signal })),
				readable<Domain>(api.domains.list(of, { signal })),
				isAdmin ? readable<Webhook>(api.webhooks.list(of, { signal })) : NOTHING,
				readable<PersonalApiKey>(api.personalApiKeys.list({ limit: LIMIT }, { signal })),
			]);
			return { exports, domains, webhooks, keys };
		},
		[id],
	);
	const view = ({ exports, domains, webhooks, keys }: NonNullable<typeof loaded.data>) => {
		const items = attentionOf(
			{
				exports: exports.results,
				domains: isAdmin ? domains.results : [],
				webhooks: webhooks.results,
				keys: keys.results,
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
