/** The fields of an export. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type {
	BatchExport,
	BatchExportDestination,
	BatchExportDestinationUpdate,
} from "tenantry-client";
import { rootOf } from "tenantry-file-names";
import { exportSubject } from "tenantry-subjects";
import { type Grid, inUtc, WEEKDAYS } from "../../../../../src/exports/engine/grid.ts";
import { useOrganization } from "../../organization.tsx";
import { Field, Select, text } from "../../ui/form.tsx";
import { toLocal } from "../../ui/moments.ts";
import { Optional, SettingFields } from "../../ui/setting_fields.tsx";
import { type Config, configOf } from "../../ui/settings.ts";
import { IN_ZONE } from "../../ui/zone.ts";
import { settingsOf } from "./destination_settings.ts";
import { TYPES, typeOf, wordsOfType } from "./destinations.ts";
import { FilePreview } from "./file_preview.tsx";
import { QueryField } from "./query_field.tsx";
import { DAYS, HOURS, INTERVALS, MODELS } from "./states.tsx";

type Destination = { type: string; config: Config };

const isKnown = ({ type }: { type?: string | undefined }) =>
	TYPES.some(([known]) => known === type);

/** The form has the same settings as the API, which checks their values. */
const isNew = (value: object & { type?: string | undefined }): value is BatchExportDestination =>
	isKnown(value);

const isUpdate = (
	value: object & { type?: string | undefined },
): value is BatchExportDestinationUpdate => isKnown(value);

export function destinationWith(destination: Destination): BatchExportDestination {
	if (!isNew(destination)) throw new Error("Choose a destination.");
	return destination;
}

export function updateWith(destination: Destination): BatchExportDestinationUpdate {
	if (!isUpdate(destination)) throw new Error("Choose a destination.");
	return destination;
}

/** Returns the value of a field if it is one of these; otherwise the first of them. */
export const chosen = <T extends string>(
	fields: FormData,
	name: string,
	[first, ...others]: readonly [readonly [T, string], ...(readonly [T, string])[]],
): T => [first, ...others].find(([value]) => value === text(fields, name))?.[0] ?? first[0];

const moment = (at: string | null | undefined) => (at ? toLocal(Date.parse(at)) : "");

/** Returns the current values that determine the names of files. */
const readFiles = (form: HTMLFormElement, type: string, of: BatchExport | undefined) => {
	const fields = new FormData(form);
	return {
		root: rootOf(typeOf(type)?.isOwn ?? false, of?.team_id ?? text(fields, "project")),
		config: configOf(settingsOf(type), fields),
		grid: { ...inUtc(chosen(fields, "interval", INTERVALS)), ...clockIn(fields) },
		model: chosen(fields, "model", MODELS),
	};
};

/** Whether the test of the destination uses this field. */
const isTested = (field: EventTarget | null) =>
	field instanceof Element &&
	/^(type|model|xql_query|destination__.*)$/.test(field.getAttribute("name") ?? "");

/** Returns the fields of the form that say when windows begin. Hidden ones are missing. */
export function clockIn(fields: FormData): Partial<Omit<Grid, "interval">> {
	const weekday = text(fields, "weekday");
	return {
		...(fields.has("time_zone") && { time_zone: text(fields, "time_zone") || null }),
		...(fields.has("hour") && { hour: Number(text(fields, "hour")) || null }),
		...(fields.has("weekday") && { weekday: WEEKDAYS.find((day) => day === weekday) ?? null }),
	};
}

/** Returns the options for a time zone: UTC, the user's, the stored one and all others. */
function zonesWith(stored: string) {
	const { timeZone: own } = new Intl.DateTimeFormat().resolvedOptions();
	const known = new Set([own, ...Intl.supportedValuesOf("timeZone")]);
	if (stored !== "") known.add(stored);
	known.delete("UTC");
	const words = (zone: string) => (zone === own ? `${zone} (yours)` : zone.replaceAll("_", " "));
	return [["", "UTC"] as const, ...[...known].map((zone) => [zone, words(zone)] as const)];
}

/** When windows of a day or a week begin. */
function Clock({ of, interval }: { of: BatchExport | undefined; interval: string }) {
	const zone = of?.time_zone ?? "";
	const [zones] = useState(() => zonesWith(zone));
	return (
		<>
			<div class="pair">
				{interval === "week" && (
					<Select
						name="weekday"
						label="Begins on"
						options={DAYS}
						defaultValue={of?.weekday ?? ""}
					/>
				)}
				<Select
					name="hour"
					label="Begins at"
					options={HOURS}
					defaultValue={String(of?.hour ?? "")}
				/>
			</div>
			<Select
				name="time_zone"
				label="Time zone"
				options={zones}
				defaultValue={zone}
				hint="A day on which clocks change is one window of 23 or 25 hours."
			/>
		</>
	);
}

const When = ({ of, last }: { of: BatchExport | undefined; last: ComponentChildren }) => {
	const [interval, setInterval] = useState<string>(of?.interval ?? "hour");
	return (
		<section class="panel form-part">
			<h2>Schedule</h2>
			<Select
				name="interval"
				label="Interval"
				options={INTERVALS}
				value={interval}
				onChange={({ currentTarget }) => setInterval(currentTarget.value)}
				hint="Each window is exported once, soon after it ends."
			/>
			{(interval === "day" || interval === "week") && <Clock of={of} interval={interval} />}
			<details class="more" open={Boolean(of?.start_at ?? of?.end_at)}>
				<summary>Start and end</summary>
				<div class="pair">
					<Field
						name="start_at"
						label={<Optional label="Not before" />}
						type="datetime-local"
						hint={`The time is ${IN_ZONE}.`}
						defaultValue={moment(of?.start_at)}
					/>
					<Field
						name="end_at"
						label={<Optional label="Not after" />}
						type="datetime-local"
						defaultValue={moment(of?.end_at)}
					/>
				</div>
			</details>
			{last}
		</section>
	);
};

const ModelSelect = ({ model, onChange }: { model: string; onChange: (model: string) => void }) => (
	<Select
		name="model"
		label="Rows"
		options={MODELS}
		defaultValue={model}
		hint={
			model === "persons"
				? "Your users, with their properties."
				: "Events, with the persons who caused them."
		}
		onChange={({ currentTarget }) => onChange(currentTarget.value)}
	/>
);

/**
 * The fields that determine the name of the first file. `update` reads it from the form around
 * `root`.
 */
function useFiles(type: string, of: BatchExport | undefined) {
	const [files, setFiles] = useState<ReturnType<typeof readFiles>>();
	const root = useRef<HTMLDivElement>(null);
	const update = () => {
		const form = root.current?.closest("form");
		if (form) setFiles(readFiles(form, type, of));
	};
	useEffect(update, [type]);
	return { root, files, update };
}

/** All fields of an export. The type of a stored export's destination can't be changed. */
export function ExportFields({
	of,
	onChange,
	children,
	last,
}: {
	of?: BatchExport;
	/** Called when a field changes that the test of the destination uses. */
	onChange?: () => void;
	/** Additional fields after the name. */
	children?: ComponentChildren;
	/** Additional fields at the end. */
	last?: ComponentChildren;
}) {
	const { organization } = useOrganization();
	const [type, setType] = useState<string>(of?.destination.type ?? TYPES[0]?.[0] ?? "");
	const [model, setModel] = useState<string>(of?.model ?? MODELS[0][0]);
	const [name, setName] = useState<string | undefined>(of?.name);
	const { root, files, update } = useFiles(type, of);
	const rows = MODELS.find(([value]) => value === model)?.[1] ?? "Rows";
	return (
		<div
			ref={root}
			onInput={(event) => {
				update();
				if (isTested(event.target)) onChange?.();
			}}
			onChange={update}
		>
			<section class="panel form-part">
				<h2>Data to export</h2>
				<Field
					name="name"
					label="Name"
					required
					maxLength={400}
					value={name ?? `${rows} to ${wordsOfType(type)}`}
					onInput={({ currentTarget }) => setName(currentTarget.value)}
				/>
				{children}
				<ModelSelect model={model} onChange={setModel} />
				{model === "events" && <QueryField defaultValue={of?.xql_query ?? ""} />}
			</section>
			<section class="panel form-part">
				<h2>Destination</h2>
				{of ? (
					<p>{wordsOfType(type)}. The type can't be changed.</p>
				) : (
					<Select
						name="type"
						label="Destination"
						options={TYPES}
						defaultValue={type}
						onChange={({ currentTarget }) => setType(currentTarget.value)}
					/>
				)}
				<SettingFields
					key={type}
					type={type}
					settings={settingsOf(type)}
					config={of?.destination.config}
					{...(of && {
						subject: exportSubject({
							organization: organization.id,
							project: of.team_id,
							id: of.id,
						}),
					})}
				/>
				{files && <FilePreview {...files} />}
			</section>
			<When of={of} last={last} />
		</div>
	);
}
