import type { ComponentChildren } from "preact";
import { type BatchExport, type Page, TenantryError } from "tenantry-client";
import { NOTHING, readable, useLoad } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { Show } from "../../ui/feedback.tsx";
import { PageView, Section } from "../../ui/page.tsx";
import { Badge, Count, type Mood } from "../../ui/values.tsx";
import { Attention } from "./attention.tsx";
import { Exported } from "./exported.tsx";
import { FirstSteps } from "./first_steps.tsx";
import { type State, stateOf } from "./state.ts";

/** The number of exports that are loaded, newest first. */
const LIMIT = 50;

/** Returns the value of a part of the page, or what stands for it if the user may not read it. */
async function readableOr<T>(part: PromiseLike<T>, otherwise: T) {
	try {
		return await part;
	} catch (error) {
		if (error instanceof TenantryError && error.status === 403) return otherwise;
		throw error;
	}
}

/** Loads what the overview shows. What the user isn't allowed to read is empty. */
async function load(organization: string, isAdmin: boolean, signal: AbortSignal) {
	const of = { organization };
	const one = { ...of, limit: 1 };
	const admins = <T,>(list: () => PromiseLike<Page<T>>) => (isAdmin ? readable(list()) : NOTHING);
	const [exports, attention, totals, domains, webhooks] = await Promise.all([
		readable(api.batchExports.list({ ...of, limit: LIMIT }, { signal })),
		readableOr(api.attention.get(of, { signal }), { items: [] }),
		readableOr(api.batchExports.getTotals(of, { signal }), { days: [] }),
		admins(() => api.domains.list({ ...of, limit: LIMIT }, { signal })),
		admins(() => api.webhooks.list(one, { signal })),
	]);
	return { exports, attention, days: totals.days, domains, webhooks };
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

type Loaded = Awaited<ReturnType<typeof load>>;

export default function Overview() {
	const { organization, isAdmin, to } = useOrganization();
	const { id, name, member_count, teams } = organization;
	const loaded = useLoad((signal) => load(id, isAdmin, signal), [id, isAdmin]);
	const view = ({ exports, domains, webhooks, days, attention: { items } }: Loaded) => {
		const attention = (
			<Section title="Needs attention">
				<Attention items={items} onDone={loaded.reload} />
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
				{exports.results.length > 0 && <Exported exports={exports.results} days={days} />}
			</>
		);
	};
	return (
		<PageView title={name}>
			<Show of={loaded}>{view}</Show>
		</PageView>
	);
}
