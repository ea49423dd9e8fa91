import { useState } from "preact/hooks";
import { Area, Check, Field, Form, rejection, Select, text } from "../../ui/form.tsx";
import { isObject, type Job, jsonIn, type PayloadField, shownText } from "./schema.ts";

type Payload = Record<string, unknown>;

const nameOf = (key: string) => `payload__${key}`;
const RAW = "payload";

/**
 * The form that starts a job, with the fields that the plugin describes, otherwise with a JSON
 * object.
 */
export function JobForm({
	jobs,
	onStart,
}: {
	jobs: Job[];
	onStart: (type: string, payload: Payload) => Promise<void>;
}) {
	const [chosen, setChosen] = useState(jobs[0]?.name ?? "");
	const job = jobs.find(({ name }) => name === chosen);
	return (
		<Form
			action="Start job"
			onSubmit={async (form) => {
				if (job) await onStart(job.name, payloadOf(job, form));
			}}
		>
			<Select
				name="job"
				label="Job"
				options={jobs.map(({ name }): [string, string] => [name, name])}
				value={chosen}
				onChange={({ currentTarget }) => setChosen(currentTarget.value)}
			/>
			{job?.fields?.map((field) => (
				<Input key={`${job.name} ${field.key}`} field={field} />
			))}
			{job && !job.fields && (
				<Area
					name={RAW}
					label="Payload"
					class="code"
					rows={3}
					spellcheck={false}
					defaultValue="{}"
					hint="A JSON object that is passed to the job."
				/>
			)}
		</Form>
	);
}

function Input({ field }: { field: PayloadField }) {
	const { key, label, type, isRequired, initial } = field;
	const name = nameOf(key);
	const common = { name, label, required: isRequired, defaultValue: shownText(initial) };
	switch (type) {
		case "boolean":
			return <Check name={name} label={label} defaultChecked={initial === true} />;
		case "number":
			return <Field {...common} type="number" step="any" />;
		case "date":
			return <Field {...common} type="date" />;
		case "daterange":
			return (
				<>
					<Field
						name={`${name}__from`}
						label={`${label}, from`}
						type="date"
						required={isRequired}
					/>
					<Field name={`${name}__to`} label={`${label}, to`} type="date" required={isRequired} />
				</>
			);
		case "json":
			return <Area {...common} class="code" rows={3} spellcheck={false} />;
		default:
			return <Field {...common} />;
	}
}

/** Returns the value of a field; undefined if it is empty. */
function inputOf({ key, type }: PayloadField, form: FormData) {
	const name = nameOf(key);
	const given = text(form, name);
	if (type === "boolean") return form.has(name);
	if (type === "daterange") {
		const range = [text(form, `${name}__from`), text(form, `${name}__to`)];
		return range.some(Boolean) ? range : undefined;
	}
	if (given === "") return undefined;
	if (type === "number") return Number(given);
	return type === "json" ? jsonIn(name, given) : given;
}

function payloadOf({ fields }: Job, form: FormData): Payload {
	if (fields)
		return Object.fromEntries(
			fields.flatMap((field) => {
				const value = inputOf(field, form);
				return value === undefined ? [] : [[field.key, value]];
			}),
		);
	const given = jsonIn(RAW, text(form, RAW) || "{}");
	if (!isObject(given)) throw rejection(RAW, 'Enter an object, such as {"name": "Ann"}.');
	return given;
}
