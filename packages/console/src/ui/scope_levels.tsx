import { effectOf, LEVELS, levelOf, levelsOf, OBJECTS, type Scope, withLevel } from "./scopes.ts";

const HEADINGS = { none: "None", read: "Read", run: "Run", write: "Write" };

const ALL: readonly Scope[] = ["*"];

/** Says what full access means for later. */
export const IncludesLater = ({ scopes }: { scopes: readonly Scope[] }) =>
	scopes.includes("*") ? (
		<small class="hint">Full access includes scopes that are added later.</small>
	) : null;

/** The choice of a level for each object, with what it allows. */
export function ScopeLevels({
	scopes,
	most = ALL,
	onChange,
}: {
	scopes: readonly Scope[];
	/** The highest levels that can be chosen. Objects without one are left out. */
	most?: readonly Scope[];
	onChange: (scopes: readonly Scope[]) => void;
}) {
	const mayChoose = (object: (typeof OBJECTS)[number]["object"], level: (typeof LEVELS)[number]) =>
		LEVELS.indexOf(level) <= LEVELS.indexOf(levelOf(most, object));
	return (
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
				{OBJECTS.filter(({ object }) => mayChoose(object, "read")).map((each) => {
					const { object, title } = each;
					const current = levelOf(scopes, object);
					return (
						<tr key={object} data-level={current}>
							<th scope="row">
								{title}
								<small>{effectOf(object, current) ?? "No access"}</small>
							</th>
							{LEVELS.map((level) => (
								<td key={level}>
									{levelsOf(each).includes(level) && mayChoose(object, level) && (
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
									)}
								</td>
							))}
						</tr>
					);
				})}
			</tbody>
		</table>
	);
}
