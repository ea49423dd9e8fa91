import { Group } from "../../ui/form.tsx";
import { IncludesLater, ScopeLevels } from "../../ui/scope_levels.tsx";
import { isSame, PRESETS, type Scope } from "../../ui/scopes.ts";

type Choice = { scopes: readonly Scope[]; onChange: (scopes: readonly Scope[]) => void };

/** The choice of scopes, with a row for each object that describes the effect. */
export function ScopePicker({ scopes, onChange }: Choice) {
	return (
		<Group name="scopes" label="Permissions">
			<div class="row key-presets">
				{PRESETS.map(([words, preset]) => (
					<button
						key={words}
						type="button"
						class="secondary outline small"
						aria-pressed={isSame(preset, scopes)}
						onClick={() => onChange(preset)}
					>
						{words}
					</button>
				))}
			</div>
			<ScopeLevels scopes={scopes} onChange={onChange} />
			<IncludesLater scopes={scopes} />
		</Group>
	);
}
