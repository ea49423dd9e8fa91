/** Components of the pages about audit streams. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type {
	AuditStream,
	AuditStreamDestination,
	AuditStreamDestinationUpdate,
	BatchExportTrial,
	UpdateAuditStreamBody,
} from "tenantry-client";
import { Dialog } from "../../ui/dialog.tsx";
import { type Config, changesOf, configOf, labelOf } from "../../ui/settings.ts";
import { Badge, type Mood, Time } from "../../ui/values.tsx";
import * as sinks from "./sinks.ts";

export type State = "healthy" | "failing" | "paused" | "new";

export function stateOf({ enabled, latest_error, delivered_until }: AuditStream): State {
	if (!enabled) return "paused";
	if (latest_error !== null) return "failing";
	return delivered_until === null ? "new" : "healthy";
}

export const STATES: Record<State, readonly [words: string, mood: Mood]> = {
	healthy: ["Up to date", "good"],
	failing: ["Failing", "bad"],
	paused: ["Paused", "warn"],
	new: ["Starting", "quiet"],
};

export function StateBadge({ stream }: { stream: AuditStream }) {
	const [words, mood] = STATES[stateOf(stream)];
	return <Badge mood={mood}>{words}</Badge>;
}

export function stateDetail(stream: AuditStream): ComponentChildren {
	switch (stateOf(stream)) {
		case "failing":
			return (
				<>
					next attempt <Time value={stream.next_attempt_at} isRelative />
				</>
			);
		case "healthy":
			return (
				<>
					until <Time value={stream.delivered_until} />
				</>
			);
		case "new":
			return "Older entries are written within minutes, new ones every hour.";
		default:
			return "Entries wait until you resume it.";
	}
}

/** Returns where entries go, in one line (docs/audit.md#files). */
export function placeOf({ id, destination }: AuditStream, organization: string) {
	const { type, config } = destination;
	const place = sinks.placeOf(destination);
	const known = sinks.typeOf(type);
	if (known?.kind !== "files") return [known?.title ?? type, place].filter(Boolean).join(": ");
	const root = known.isOwn ? `audit/${organization}` : place;
	const prefix = String(config.prefix ?? "")
		.split("/")
		.filter(Boolean);
	return `${type}: ${[root, ...prefix, id].filter(Boolean).join("/")}`;
}

type Destination = { type: string; config: Config };

const isKnown = ({ type }: { type?: string | undefined }) =>
	sinks.TYPES.some(([known]) => known === type);

/** The form has the same settings as the API, which checks their values. */
const isNew = (value: object & { type?: string | undefined }): value is AuditStreamDestination =>
	isKnown(value);

const isUpdate = (
	value: object & { type?: string | undefined },
): value is AuditStreamDestinationUpdate => isKnown(value);

export function destinationOf(type: string, fields: FormData): AuditStreamDestination {
	const destination: Destination = { type, config: configOf(sinks.settingsOf(type), fields) };
	if (!isNew(destination)) throw new Error("Choose a destination.");
	return destination;
}

/**
 * Returns the settings that differ from the stored ones, if any. An empty secret leaves the stored
 * one unchanged.
 */
export function destinationChangesOf(
	{ destination: { type, config } }: AuditStream,
	fields: FormData,
): AuditStreamDestinationUpdate | undefined {
	const changed: Destination = {
		type,
		config: changesOf(sinks.settingsOf(type), fields, config),
	};
	return Object.keys(changed.config).length > 0 && isUpdate(changed) ? changed : undefined;
}

/**
 * Returns the changes for the dialog for conflicts: settings next to the other fields, secrets
 * masked.
 */
export function listed(type: string, { destination, ...others }: UpdateAuditStreamBody) {
	const settings = Object.entries(destination?.config ?? {}).map(([name, value]) => [
		name,
		sinks.isSecret(type, name) ? "New value" : value,
	]);
	return { ...others, ...Object.fromEntries(settings) };
}

/** Returns the labels of the fields that `listed` returns. */
export const labelsOf = (type: string): Record<string, string> => ({
	name: "Name",
	enabled: "Enabled",
	...Object.fromEntries(sinks.settingsOf(type).map(({ name }) => [name, labelOf(name)])),
});

export function TrialDialog({ trial, onClose }: { trial: BatchExportTrial; onClose: () => void }) {
	const [{ success, steps }] = useState(trial);
	return (
		<Dialog title={success ? "The test succeeded" : "The test failed"} onClose={onClose}>
			<ul class="trial-steps">
				{steps.map(({ name, error, warning }) => (
					<li key={name}>
						<Badge mood={error === null ? "good" : "bad"}>{error === null ? "OK" : "Failed"}</Badge>{" "}
						{name.charAt(0).toUpperCase() + name.slice(1)}
						{error !== null && <small class="below said">{error}</small>}
						{warning !== null && <small class="below said">{warning}</small>}
					</li>
				))}
			</ul>
			<div class="buttons">
				<button type="button" onClick={onClose}>
					Close
				</button>
			</div>
		</Dialog>
	);
}
