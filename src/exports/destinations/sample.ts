import { v7 } from "uuid";
import type { Field, Kind } from "../query/expression.ts";
import { fieldsOf, type Model, type Row } from "../query/rows.ts";
import type { Job, Sample } from "./destination.ts";

/** Values for computed fields, for which only the kind is known. Any expression can be null. */
const KINDS: Record<Kind, () => Row[number]> = {
	text: () => null,
	json: () => null,
	integer: () => 1,
	number: () => 1,
	boolean: () => true,
	date: () => new Date().toISOString().slice(0, 10),
	timestamp: () => new Date().toISOString(),
};

const COLUMNS: Record<string, () => Row[number]> = {
	uuid: () => v7(),
	event: () => "trial",
	distinct_id: () => "trial",
	person_id: () => v7(),
	properties: () => '{"trial":true}',
	elements_chain: () => "",
};

const value = ({ kind, expression }: Field, team_id: number) => {
	const name = expression.type === "column" ? expression.name : "";
	if (name === "team_id") return team_id;
	return (COLUMNS[name] ?? KINDS[kind])();
};

/**
 * Returns a sample with one row.
 * @param fields the fields that the export writes
 * @param team_id 0 if there is no project
 */
export function sampleOf(
	model: Model,
	fields: Field[] = fieldsOf(model, null, true),
	team_id = 0,
): Sample {
	const now = new Date().toISOString();
	const job: Job = {
		run_id: v7(),
		export_id: v7(),
		backfill: false,
		isRepeat: false,
		team_id,
		model,
		columns: fields,
		hasUuid: model === "events",
		start: now,
		end: now,
	};
	return { job, rows: [fields.map((field) => value(field, team_id))] };
}
