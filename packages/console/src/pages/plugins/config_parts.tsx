import type { PluginConfig } from "tenantry-client";
import { useAction } from "../../ui/button.tsx";
import { say } from "../../ui/feedback.tsx";
import { Badge, type Mood } from "../../ui/values.tsx";
import { setEnabled } from "./enable.ts";
import { pluginIn } from "./schema.ts";
import { versionName } from "./words.tsx";

export type Config = PluginConfig;

export const configName = ({ name, id }: PluginConfig) => name || `Config ${id}`;

export function PluginLine({ config }: { config: PluginConfig }) {
	const { name, tag } = pluginIn(config);
	return <>{[name !== config.name && name, tag && versionName(tag)].filter(Boolean).join(" · ")}</>;
}

const moodOf = (share: number): Mood => (share === 1 ? "good" : share >= 0.9 ? "warn" : "bad");

export function Success({ rate }: { rate: string | null }) {
	if (rate === null) return null;
	const share = Number(rate);
	return (
		<span title="Of all jobs and tasks in the last 24 hours">
			<Badge mood={moodOf(share)}>{`${Math.floor(share * 100)}% succeeded`}</Badge>
		</span>
	);
}

export const stateOf = ({ enabled, error }: PluginConfig) =>
	!enabled ? "Disabled" : error ? "Failing" : "Enabled";

const MOODS = { Disabled: "quiet", Failing: "bad", Enabled: "good" } as const;

export function ConfigState({ config }: { config: PluginConfig }) {
	const state = stateOf(config);
	return <Badge mood={MOODS[state]}>{state}</Badge>;
}

/** The switch that enables a plugin in a project. It changes when the API has responded. */
export function EnabledSwitch({
	config,
	onChanged,
}: {
	config: PluginConfig;
	onChanged: (config: Config) => unknown;
}) {
	const { isBusy, run } = useAction();
	async function toggle() {
		const changed = await setEnabled(config, !config.enabled);
		say(`${configName(changed)} is ${changed.enabled ? "enabled" : "disabled"}.`);
		await onChanged(changed);
	}
	return (
		<label class="enabled">
			<input
				type="checkbox"
				role="switch"
				checked={config.enabled}
				aria-checked={config.enabled}
				aria-label={`${configName(config)} is enabled`}
				aria-busy={isBusy}
				onClick={(event) => {
					event.preventDefault();
					run(toggle);
				}}
			/>
			<span aria-hidden="true">{config.enabled ? "Enabled" : "Disabled"}</span>
		</label>
	);
}
