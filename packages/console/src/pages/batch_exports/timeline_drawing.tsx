/** Draws the timeline. Each run, range and gap is a link. */
import { computed } from "@preact/signals";
import type { TargetedKeyboardEvent } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { useLocation } from "preact-iso/router";
import type { BatchExport } from "tenantry-client";
import type { Attention } from "./timeline_attention.ts";
import { type Tick, ticksOf } from "./timeline_axis.ts";
import { type Entry, isRetried, type Lane, lateness, type Range } from "./timeline_lanes.ts";
import { BAR, GapBar, Hatching, LateMark, MARK, RetriedMark, RunBar } from "./timeline_shapes.tsx";
import { linkOf, sayEntry } from "./timeline_words.ts";

/** The minimum width of a window, and the minimum distance between ticks, in pixels. */
const MIN_WINDOW = 8;
const MIN_TICK = 56;

/** The heights of a lane and of the axis, and the width of the lane names, in pixels. */
const LANE = MARK + BAR + MARK;
const AXIS = 20;
const NAMES = 72;

/** Measures the width of an element. */
function useWidth() {
	const ref = useRef<HTMLDivElement>(null);
	const [width, setWidth] = useState(0);
	useLayoutEffect(() => {
		const element = ref.current;
		if (!element) return;
		const measure = () => setWidth(element.clientWidth);
		measure();
		const observer = new ResizeObserver(measure);
		observer.observe(element);
		return () => observer.disconnect();
	}, []);
	return [ref, width] as const;
}

/**
 * Whether the browser handles a key or a click itself, such as a new tab, or Alt+Left to go back.
 */
const isForBrowser = ({ ctrlKey, metaKey, shiftKey, altKey }: MouseEvent | KeyboardEvent) =>
	ctrlKey || metaKey || shiftKey || altKey;

/** Returns the entry that a key moves the focus to. */
function neighbour(lanes: Lane[], entry: Entry, key: string) {
	const at = lanes.findIndex(({ entries }) => entries.includes(entry));
	const entries = lanes[at]?.entries ?? [];
	const nearest = (lane: Lane | undefined) =>
		lane?.entries.toSorted(
			(a, b) => Math.abs(a.start - entry.start) - Math.abs(b.start - entry.start),
		)[0];
	switch (key) {
		case "ArrowLeft":
			return entries[entries.indexOf(entry) - 1];
		case "ArrowRight":
			return entries[entries.indexOf(entry) + 1];
		case "ArrowUp":
			return nearest(lanes[at - 1]);
		case "ArrowDown":
			return nearest(lanes[at + 1]);
		case "Home":
			return entries[0];
		case "End":
			return entries.at(-1);
		default:
			return undefined;
	}
}

type Scale = (at: number) => number;

function Axis({
	ticks,
	x,
	height,
	width,
}: {
	ticks: Tick[];
	x: Scale;
	height: number;
	width: number;
}) {
	const isWhole = (at: number) => at > MIN_TICK / 2 && at < width - MIN_TICK / 2;
	return (
		// biome-ignore lint/a11y/noAriaHiddenOnFocusable: nothing in it can have the focus
		<g aria-hidden="true">
			{ticks.map(({ at, words, isDay }) => (
				<g key={at} class={isDay ? "timeline-tick day" : "timeline-tick"}>
					<line x1={x(at)} x2={x(at)} y1="0" y2={height} />
					{isWhole(x(at)) && (
						<text x={x(at)} y={height + AXIS - 6} text-anchor="middle">
							{words}
						</text>
					)}
				</g>
			))}
		</g>
	);
}

function Bar({
	entry,
	of,
	x,
	width,
	top,
	now,
}: {
	entry: Entry;
	of: BatchExport;
	x: number;
	width: number;
	top: number;
	now: number;
}) {
	const space = width > MIN_WINDOW ? 2 : 1;
	const box = { x: x + space / 2, y: top + MARK, width: Math.max(2, width - space), height: BAR };
	if (entry.kind === "gap")
		return <GapBar {...box} isExported={entry.exported === entry.windows} />;
	if (entry.kind === "range") return <RunBar {...box} status="Completed" />;
	const { run } = entry;
	const middle = x + width / 2;
	return (
		<>
			<RunBar {...box} status={run.status} run={run} />
			{isRetried(run) && <RetriedMark x={middle} y={top + MARK / 2} />}
			{lateness(run, of.interval, now) > 0 && (
				<LateMark x={middle} y={top + MARK + BAR + MARK / 2} />
			)}
		</>
	);
}

type Drawn = {
	of: BatchExport;
	path: string;
	lanes: Lane[];
	now: number;
	attention: Attention;
};

/**
 * Returns the tab indexes of entries by key. Tab moves the focus to the selected entry, otherwise
 * to the newest.
 */
const useTabIndexes = (lanes: Lane[], chosen: Attention["chosen"]) =>
	useMemo(() => {
		const keys = lanes.flatMap(({ entries }) => entries.map(({ key }) => key));
		const newest = lanes.flatMap(({ entries }) => entries.at(-1)?.key ?? [])[0];
		const stop = computed(() => keys.find((key) => key === chosen.value) ?? newest);
		return new Map(keys.map((key) => [key, computed(() => (stop.value === key ? 0 : -1))]));
	}, [lanes, chosen]);

/** The runs and gaps. Tab reaches only one of them, and arrow keys move between them. */
function Entries({ of, path, lanes, now, attention, x }: Drawn & { x: Scale }) {
	const { active, chosen, choose } = attention;
	const { route } = useLocation();
	const tabIndexes = useTabIndexes(lanes, chosen);
	/**
	 * The key of the entry that was touched first. The first tap only shows its description, the
	 * second opens it.
	 */
	const touched = useRef<string | undefined>(undefined);
	// The router doesn't handle links in an SVG.
	const follow = (event: MouseEvent, { key }: Entry, link: string) => {
		if (isForBrowser(event)) return;
		event.preventDefault();
		const isFirstTap = touched.current === key;
		touched.current = undefined;
		choose(key, !isFirstTap);
		if (!isFirstTap) route(link);
	};
	const move = (event: TargetedKeyboardEvent<Element>, entry: Entry) => {
		const next = isForBrowser(event) ? undefined : neighbour(lanes, entry, event.key);
		if (!next) return;
		event.preventDefault();
		event.currentTarget
			.closest("svg")
			?.querySelector<SVGElement>(`[data-key="${next.key}"]`)
			?.focus();
	};
	return (
		<>
			{lanes.map(({ entries }, i) =>
				entries.map((entry) => {
					const box = { x: x(entry.start), width: x(entry.end) - x(entry.start) };
					const link = linkOf(entry, path);
					return (
						<a
							key={entry.key}
							data-key={entry.key}
							class="timeline-entry"
							href={link}
							aria-label={sayEntry(entry, of, now)}
							tabindex={tabIndexes.get(entry.key)}
							onFocus={() => choose(entry.key)}
							onMouseEnter={() => {
								active.value = entry.key;
							}}
							onPointerDown={({ pointerType }) => {
								const isNew = pointerType === "touch" && active.peek() !== entry.key;
								touched.current = isNew ? entry.key : undefined;
							}}
							onKeyDown={(event) => move(event, entry)}
							onClick={(event) => follow(event, entry, link)}
						>
							<rect class="timeline-hit" {...box} y={i * LANE} height={LANE} />
							<Bar entry={entry} of={of} {...box} top={i * LANE} now={now} />
						</a>
					);
				}),
			)}
		</>
	);
}

const Names = ({ lanes }: { lanes: Lane[] }) => (
	<svg class="timeline-names" width={NAMES} height={lanes.length * LANE + AXIS} aria-hidden="true">
		{lanes.map(({ name }, i) => (
			<text key={name} x="0" y={i * LANE + MARK + BAR / 2 + 4}>
				{name}
			</text>
		))}
	</svg>
);

/**
 * Draws lanes of runs over a time axis. It scrolls if it is wider than the page.
 * @param place identifies the selected range
 * @param isLoaded whether the lanes are loaded
 * @param length the length of a window in milliseconds
 */
export function Drawing({
	range,
	place,
	isLoaded,
	length,
	...drawn
}: Drawn & { range: Range; place: string; isLoaded: boolean; length: number }) {
	const { lanes, now, attention } = drawn;
	const [ref, available] = useWidth();
	const time = range.end - range.start;
	const width = Math.max(available, (time / length) * MIN_WINDOW);
	const height = lanes.length * LANE;
	const x = (at: number) => ((Math.max(at, range.start) - range.start) / time) * width;
	const isMeasured = available > 0;
	// The newest windows are at the end.
	useLayoutEffect(() => {
		if (ref.current) ref.current.scrollLeft = width;
	}, [isMeasured, place]);
	/** The key of the entry in the URL, until the entries are loaded. */
	const linked = useRef(attention.chosen.peek());
	useLayoutEffect(() => {
		if (!isMeasured || !isLoaded || !ref.current) return;
		const entries = lanes.flatMap(({ entries }) => entries);
		const entry = entries.find(({ key }) => key === linked.current);
		if (entry) ref.current.scrollLeft = x((entry.start + entry.end) / 2) - available / 2;
		linked.current = undefined;
	}, [isMeasured, isLoaded, lanes]);
	return (
		<div class="timeline-view">
			<Names lanes={lanes} />
			<div class="timeline-scroll" ref={ref}>
				{isMeasured && (
					// biome-ignore lint/a11y/noSvgWithoutTitle: its links have names, and a title would be a tooltip
					<svg class="timeline" width={width} height={height + AXIS}>
						<Hatching />
						{lanes.map(({ name }, i) => (
							<rect
								key={name}
								class="timeline-track"
								x="0"
								y={i * LANE + MARK}
								width={width}
								height={BAR}
							/>
						))}
						<Axis ticks={ticksOf(range, width / MIN_TICK)} x={x} height={height} width={width} />
						{now < range.end && (
							<line class="timeline-now" x1={x(now)} x2={x(now)} y1="0" y2={height} />
						)}
						<Entries {...drawn} x={x} />
					</svg>
				)}
			</div>
		</div>
	);
}
