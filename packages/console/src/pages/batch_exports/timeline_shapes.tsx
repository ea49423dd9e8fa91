/**
 * The shapes of runs, ranges and gaps. Each state has its own shape, so that the colours aren't
 * required.
 */
import type { BatchExportRun } from "tenantry-client";
import { moodOfRun } from "./states.tsx";

type Status = BatchExportRun["status"];

type Box = { x: number; y: number; width: number; height: number };

/** The heights of a bar, and of the rows above and below it for marks, in pixels. */
export const BAR = 26;
export const MARK = 10;

function Broken({ box: { x, y, width, height }, isCross }: { box: Box; isCross: boolean }) {
	const part = height * 0.32;
	const [middle, center] = [y + height / 2, x + width / 2];
	const r = Math.min(width, part) / 2;
	return (
		<>
			<rect class="fill" x={x} y={y} width={width} height={part} />
			<rect class="fill" x={x} y={y + height - part} width={width} height={part} />
			{isCross ? (
				<path
					class="stroke"
					d={`M${center - r} ${middle - r}l${2 * r} ${2 * r}m0 ${-2 * r}l${-2 * r} ${2 * r}`}
				/>
			) : (
				<circle class="fill" cx={center} cy={middle} r={r * 0.7} />
			)}
		</>
	);
}

const Growing = ({ box, share }: { box: Box; share: number }) => (
	<>
		<rect
			class="fill"
			x={box.x}
			y={box.y + box.height * (1 - share)}
			width={box.width}
			height={box.height * share}
		/>
		<rect
			class="stroke"
			x={box.x + 0.5}
			y={box.y + 0.5}
			width={Math.max(0, box.width - 1)}
			height={box.height - 1}
		/>
	</>
);

function Shape({ status, share, box }: { status: Status; share: number; box: Box }) {
	switch (status) {
		case "Completed":
			return <rect class="fill" {...box} />;
		case "Running":
			return <Growing box={box} share={share} />;
		case "Starting":
			return <Growing box={box} share={0} />;
		case "Failed":
			return <Broken box={box} isCross />;
		case "FailedRetryable":
			return <Broken box={box} isCross={false} />;
		case "Cancelled":
			return <rect class="fill" {...box} y={box.y + box.height * 0.7} height={box.height * 0.3} />;
	}
}

/** Returns the progress of a run from 0 to 1; 0.5 if the number of rows is unknown. */
function shareOf({ records_completed, records_total_count }: BatchExportRun) {
	return records_total_count ? Math.min(1, records_completed / records_total_count) : 0.5;
}

export const RunBar = ({
	status,
	run,
	...box
}: Box & { status: Status; run?: BatchExportRun | undefined }) => (
	<g class={`timeline-bar ${moodOfRun(status)}`}>
		<Shape status={status} share={run ? shareOf(run) : 0.5} box={box} />
	</g>
);

/**
 * The hatched bar of windows without a run. It is thinner if backfills have exported all of them.
 */
export const GapBar = ({ isExported, ...box }: Box & { isExported: boolean }) => (
	<rect
		class="timeline-gap"
		fill="url(#timeline-hatching)"
		{...box}
		{...(isExported && { y: box.y + box.height * 0.7, height: box.height * 0.3 })}
	/>
);

export const Hatching = () => (
	<defs>
		<pattern
			id="timeline-hatching"
			width="6"
			height="6"
			patternUnits="userSpaceOnUse"
			patternTransform="rotate(45)"
		>
			<line class="timeline-hatch" x1="0" y1="0" x2="0" y2="6" />
		</pattern>
	</defs>
);

export const RetriedMark = ({ x, y }: { x: number; y: number }) => (
	<circle class="timeline-mark" cx={x} cy={y} r="2.5" />
);

export const LateMark = ({ x, y }: { x: number; y: number }) => (
	<path class="timeline-mark solid" d={`M${x - 3.5} ${y + 3}l3.5 -6l3.5 6z`} />
);

const SAMPLE = { x: 3, y: 1, width: 8, height: 14 };

function Drawn({ of }: { of: Status | "range" | "gap" | "exported" | "retried" | "late" | "now" }) {
	switch (of) {
		case "range":
			return <RunBar {...SAMPLE} x={0} width={14} status="Completed" />;
		case "gap":
		case "exported":
			return <GapBar {...SAMPLE} x={0} width={14} isExported={of === "exported"} />;
		case "retried":
			return <RetriedMark x={7} y={8} />;
		case "late":
			return <LateMark x={7} y={8} />;
		case "now":
			return <line class="timeline-now" x1="7" x2="7" y1="0" y2="16" />;
		default:
			return <RunBar {...SAMPLE} status={of} />;
	}
}

export const Sample = (props: Parameters<typeof Drawn>[0]) => (
	<svg class="timeline-sample" width="14" height="16" aria-hidden="true">
		<Drawn {...props} />
	</svg>
);
