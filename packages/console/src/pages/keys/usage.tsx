import type { KeyDay } from "tenantry-client";
import { Count } from "../../ui/values.tsx";

const DAY_MS = 86_400_000;

const NUMBER = new Intl.NumberFormat();
const DAY = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", timeZone: "UTC" });

const wordsOf = (day: string) => DAY.format(new Date(day));

/** Returns the last days until today (UTC), oldest first, including days without use. */
function fill(days: readonly KeyDay[], count: number): KeyDay[] {
	const used = new Map(days.map((each) => [each.day, each]));
	return Array.from({ length: count }, (_, index) => {
		const day = new Date(Date.now() - (count - 1 - index) * DAY_MS).toISOString().slice(0, 10);
		return used.get(day) ?? { day, requests: 0, refusals: 0, last_address: null };
	});
}

/** Returns the IP addresses that the key was used from, latest first. */
export const addressesOf = (days: readonly KeyDay[]) => [
	...new Set(days.flatMap(({ last_address }) => last_address ?? [])),
];

const sum = (days: readonly KeyDay[], of: (day: KeyDay) => number) =>
	days.reduce((total, day) => total + of(day), 0);

/** Sizes in the units of the SVG, which is scaled to the available width. */
const HEIGHT = 100;
const STEP = 10;

function Bars({ days, max }: { days: KeyDay[]; max: number }) {
	const heightOf = (count: number) => (count === 0 ? 0 : Math.max(2, (count / max) * HEIGHT));
	return (
		<svg
			class="key-bars"
			viewBox={`0 0 ${days.length * STEP} ${HEIGHT}`}
			preserveAspectRatio="none"
			aria-hidden="true"
		>
			{days.map(({ day, requests, refusals }, index) => {
				const rejected = heightOf(refusals);
				const all = heightOf(requests);
				const place = { x: index * STEP + 1, width: STEP - 2 };
				return (
					<g key={day}>
						<title>
							{`${wordsOf(day)}: ${NUMBER.format(requests)} requests, ${NUMBER.format(refusals)} rejected`}
						</title>
						<rect class="key-bar-room" {...place} y={0} height={HEIGHT} />
						<rect class="key-bar" {...place} y={HEIGHT - all} height={all} />
						<rect class="key-bar-rejected" {...place} y={HEIGHT - rejected} height={rejected} />
					</g>
				);
			})}
		</svg>
	);
}

/** The requests of a key by day, as a chart and a table. */
export function UseByDay({ days, shown }: { days: readonly KeyDay[]; shown: number }) {
	const all = fill(days, shown);
	const used = all.filter(({ requests }) => requests > 0).reverse();
	const requests = sum(all, ({ requests }) => requests);
	const refusals = sum(all, ({ refusals }) => refusals);
	const max = Math.max(1, ...all.map(({ requests }) => requests));
	if (used.length === 0)
		return (
			<p class="hint">Not used in the last {shown} days. Requests appear here within 30 seconds.</p>
		);
	return (
		<>
			<p class="key-use-sum">
				<strong>{NUMBER.format(requests)}</strong> {requests === 1 ? "request" : "requests"}
				{refusals > 0 && (
					<>
						, <strong class="key-rejected">{NUMBER.format(refusals)}</strong> of them rejected
					</>
				)}
				. The busiest day had {NUMBER.format(max)}.
			</p>
			<Bars days={all} max={max} />
			<div class="key-bars-ends">
				<span>{wordsOf(all[0]?.day ?? "")}</span>
				<span>Today</span>
			</div>
			<details>
				<summary>Days with use</summary>
				<table class="key-days">
					<thead>
						<tr>
							<th scope="col">Day (UTC)</th>
							<th scope="col" data-align="end">
								Requests
							</th>
							<th scope="col" data-align="end">
								Rejected
							</th>
							<th scope="col">Last IP address</th>
						</tr>
					</thead>
					<tbody>
						{used.map(({ day, requests, refusals, last_address }) => (
							<tr key={day}>
								<th scope="row">{wordsOf(day)}</th>
								<td data-align="end">
									<Count value={requests} />
								</td>
								<td data-align="end">
									<Count value={refusals} />
								</td>
								<td>{last_address ?? "–"}</td>
							</tr>
						))}
					</tbody>
				</table>
			</details>
		</>
	);
}
