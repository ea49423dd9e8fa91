import { useEffect, useState } from "preact/hooks";
import type { parse } from "tenantry-query";
import { Area } from "../../ui/form.tsx";
import { Optional } from "../../ui/setting_fields.tsx";

type Query = ReturnType<typeof parse>;

/** The names of column types. */
const KINDS: Record<Query["fields"][number]["kind"], string> = {
	text: "text",
	integer: "integer",
	number: "number",
	boolean: "true or false",
	timestamp: "time",
	date: "date",
	json: "JSON",
};

/** Returns the condition with values instead of placeholders. */
const conditionOf = ({ schema: { where, values } }: Query) =>
	where?.replace(/%\((\w+)\)s/g, (_, name: string) => {
		const value = values[name];
		return typeof value === "string" ? `'${value}'` : String(value);
	});

function Columns({ query }: { query: Query }) {
	const condition = conditionOf(query);
	return (
		<>
			<table class="query-columns" aria-label="Columns of the query">
				<thead>
					<tr>
						<th scope="col">Column</th>
						<th scope="col">Type</th>
					</tr>
				</thead>
				<tbody>
					{query.fields.map(({ name, kind }) => (
						<tr key={name}>
							<td>
								<code>{name}</code>
							</td>
							<td>{KINDS[kind]}</td>
						</tr>
					))}
				</tbody>
			</table>
			<p class="soft">
				{condition ? (
					<>
						Only events where <code>{condition}</code>
					</>
				) : (
					"All events"
				)}
			</p>
		</>
	);
}

const EXAMPLE =
	"SELECT uuid, event, timestamp, toString(properties.$browser) AS browser FROM events WHERE event LIKE 'sign%'";

/**
 * A field for the query of an export. It shows the columns and their types while the user types,
 * with the same parser as the service.
 */
export function QueryField({ defaultValue = "" }: { defaultValue?: string }) {
	const [text, setText] = useState(defaultValue);
	const [query, setQuery] = useState<Query | string>();
	useEffect(() => {
		let isLatest = true;
		if (text.trim() === "") setQuery(undefined);
		else
			import("tenantry-query").then(({ parse }) => {
				if (!isLatest) return;
				try {
					setQuery(parse(text));
				} catch (error) {
					setQuery(error instanceof Error ? error.message : String(error));
				}
			});
		return () => {
			isLatest = false;
		};
	}, [text]);
	return (
		<div class="query">
			<Area
				name="xql_query"
				label={<Optional label="Query" />}
				hint={
					<>
						Selects the columns and events to export. Without a query, all columns of all events are
						exported. <a href="/docs/exports#queries">How to write queries</a>
					</>
				}
				class="query-text"
				rows={4}
				spellcheck={false}
				placeholder={EXAMPLE}
				value={text}
				onInput={({ currentTarget }) => setText(currentTarget.value)}
			/>
			<div class="query-result" role="status">
				{typeof query === "string" ? (
					<p class="failure">{query}</p>
				) : (
					query && <Columns query={query} />
				)}
			</div>
		</div>
	);
}
