import { useEffect, useRef, useState } from "preact/hooks";
import type { Axis } from "uplot";

const DAY_SECONDS = 86_400;

export type Point = { day: string; value: number };

const DAY = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", timeZone: "UTC" });
const NUMBER = new Intl.NumberFormat(undefined, { notation: "compact" });
const EXACT = new Intl.NumberFormat();

const tokenOf = (element: Element, name: string) =>
	getComputedStyle(element).getPropertyValue(name).trim();

function axesOf(element: Element): Axis[] {
	/** The chart scales with the user's font size. */
	const scale = Number.parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
	const axis = {
		stroke: tokenOf(element, "--soft"),
		font: `${12 * scale}px ${tokenOf(element, "--sans")}`,
		grid: { show: false },
		ticks: { show: false },
	};
	return [
		{
			...axis,
			gap: 8,
			size: 28 * scale,
			space: 64 * scale,
			incrs: [1, 2, 7, 14, 30, 90].map((days) => days * DAY_SECONDS),
			values: (_, days) => days.map((seconds) => DAY.format(seconds * 1000)),
		},
		{
			...axis,
			gap: 8,
			size: 44 * scale,
			values: (_, numbers) => numbers.map((number) => NUMBER.format(number)),
			incrs: [1, 2, 5]
				.flatMap((n) => Array.from({ length: 12 }, (_, i) => n * 10 ** i))
				.sort((a, b) => a - b),
			grid: { stroke: tokenOf(element, "--line"), width: 1 },
		},
	];
}

/**
 * Draws bars in an element, at its width. Returns a function that removes them.
 * @param onPoint called with the day at the pointer; undefined when the pointer leaves
 */
async function draw(
	element: HTMLElement,
	points: readonly Point[],
	token: string,
	onPoint: (point: Point | undefined) => void,
) {
	const { default: Plot } = await import("uplot");
	const plot = new Plot(
		{
			width: element.clientWidth,
			height: element.clientHeight,
			legend: { show: false },
			cursor: { y: false, points: { show: false }, drag: { x: false } },
			hooks: { setCursor: [({ cursor }) => onPoint(points[cursor.idx ?? -1])] },
			tzDate: (seconds) => Plot.tzDate(new Date(seconds * 1000), "UTC"),
			scales: {
				// Add half a day on both sides, for half of the first and last bars.
				x: { range: (_, first, last) => [first - DAY_SECONDS / 2, last + DAY_SECONDS / 2] },
				y: { range: (_, __, max) => [0, Math.max(1, max)] },
			},
			axes: axesOf(element),
			series: [
				{},
				{
					fill: tokenOf(element, token),
					paths: Plot.paths.bars?.({ size: [0.7, 40] }) ?? (() => null),
					points: { show: false },
				},
			],
		},
		[points.map(({ day }) => Date.parse(day) / 1000), points.map(({ value }) => value)],
		element,
	);
	const observer = new ResizeObserver(() =>
		plot.setSize({ width: element.clientWidth, height: element.clientHeight }),
	);
	observer.observe(element);
	return () => {
		observer.disconnect();
		plot.destroy();
	};
}

/**
 * Numbers by day (UTC) as bars. It is hidden from screen readers, so add a table with the same
 * numbers.
 * @param token the CSS variable of the colour, such as `--accent`
 */
export function Chart({
	points,
	token = "--accent",
}: {
	points: readonly Point[];
	token?: string;
}) {
	const ref = useRef<HTMLDivElement>(null);
	const [pointed, setPointed] = useState<Point>();
	useEffect(() => {
		const element = ref.current;
		if (!element) return;
		const dark = matchMedia("(prefers-color-scheme: dark)");
		const start = () => {
			setPointed(undefined);
			return draw(element, points, token, setPointed);
		};
		let drawn = start();
		const end = (of: typeof drawn) => of.then((remove) => remove());
		const restart = () => {
			end(drawn);
			drawn = start();
		};
		dark.addEventListener("change", restart);
		return () => {
			dark.removeEventListener("change", restart);
			end(drawn);
		};
	}, [points, token]);
	return (
		<div class="chart" aria-hidden="true">
			<div ref={ref} class="plot" />
			{pointed && (
				<p class="chart-point">
					{DAY.format(new Date(pointed.day))}: <strong>{EXACT.format(pointed.value)}</strong>
				</p>
			)}
		</div>
	);
}
