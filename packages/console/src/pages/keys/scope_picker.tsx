import { Group } from "../../ui/form.tsx";
import { isSame, LEVELS, levelOf, OBJECTS, PRESETS, type Scope, withLevel } from "./scopes.ts";

const HEADINGS = { none: "None", read: "Read", write: "Write" };

type Choice = { scopes: readonly Scope[]; onChange: (scopes: readonly Scope[]) => void };

const Levels = ({ scopes, onChange }: Choice) => (
	<table class="key-scopes">
		<thead>
			<tr>
				<th scope="col">Object</th>
				{LEVELS.map((level) => (
					<th key={level} scope="col">
						{HEADINGS[level]}
					</th>
				))}
			</tr>
		</thead>
		<tbody>
			{OBJECTS.map(({ object, title, ...effects }) => {
				const current = levelOf(scopes, object);
				return (
					<tr key={object} data-level={current}>
						<th scope="row">
							{title}
							<small>{current === "none" ? "No access" : effects[current]}</small>
						</th>
						{LEVELS.map((level) => (
							<td key={level}>
								<label>
									<input
										type="radio"
										name={`scope_${object}`}
										value={level}
										checked={current === level}
										onChange={() => onChange(withLevel(scopes, object, level))}
									/>
									<span class="unseen">{`${title}: ${HEADINGS[level]}`}</span>
								</label>
							</td>
						))}
					</tr>
				);
			})}
		</tbody>
	</table>
);

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
			<Levels scopes={scopes} onChange={onChange} />
			{scopes.includes("*") && (
				<small class="hint">Full access includes scopes that are added later.</small>
			)}
		</Group>
	);
}
