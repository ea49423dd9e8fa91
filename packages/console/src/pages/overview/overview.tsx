import type { ComponentChildren } from "preact";
import { type BatchExport, TenantryError } from "tenantry-client";
import { readable, useLoad } from "../../load.ts";
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

/**
 * Loads the parts of the page side by side, so that each is drawn when it has arrived. What the user
 * isn't allowed to read is empty.
 */
function useParts(organization: string) {
	const of = { organization };
	return {
		exports: useLoad(
			(signal) => readable(api.batchExports.list({ ...of, limit: LIMIT }, { signal })),
			[organization],
		),
		attention: useLoad(
			(signal) => readableOr(api.attention.get(of, { signal }), { items: [], setup: null }),
			[organization],
		),
		totals: useLoad(
			(signal) => readableOr(api.batchExports.getTotals(of, { signal }), { days: [] }),
			[organization],
		),
	};
}

type Parts = ReturnType<typeof useParts>;

function First({ attention, exports }: Parts) {
	const { isAdmin } = useOrganization();
	const reload = () => {
		attention.reload();
		exports.reload();
	};
	return (
		<Show of={attention}>
			{({ items, setup }) => {
				const list = (
					<Section title="Needs attention">
						<Attention items={items} onDone={reload} />
					</Section>
				);
				return (
					<>
						{items.length > 0 && list}
						{isAdmin && setup && exports.data && (
							<FirstSteps exports={exports.data.count} setup={setup} />
						)}
						{items.length === 0 && list}
					</>
				);
			}}
		</Show>
	);
}

export default function Overview() {
	const { organization, to } = useOrganization();
	const { id, name, member_count, teams } = organization;
	const parts = useParts(id);
	const { exports, totals } = parts;
	return (
		<PageView title={name}>
			<First {...parts} />
			<ul class="overview-figures">
				<Figure path={to("members")} name="Members" value={Number(member_count)} />
				<Figure path={to("projects")} name="Projects" value={teams.length} />
				{exports.data && (
					<Figure path={to("batch_exports")} name="Batch exports" value={exports.data.count}>
						<States exports={exports.data.results} />
					</Figure>
				)}
			</ul>
			<Show of={exports}>
				{({ results }) =>
					results.length > 0 && (
						<Show of={totals}>{({ days }) => <Exported exports={results} days={days} />}</Show>
					)
				}
			</Show>
		</PageView>
	);
}
