/** The published schema of OCSF 1.5 (build/ocsf.ts). */
import { Validator } from "@cfworker/json-schema";
import schema from "./ocsf_1_5_0.json" with { type: "json" };

const { classes, $defs } = schema;

const validators = new Map(
	Object.entries(classes).map(([uid, one]) => [
		Number(uid),
		new Validator(
			{ ...one, $defs } as ConstructorParameters<typeof Validator>[0],
			"2020-12",
			false,
		),
	]),
);

/** Returns what is wrong with an event; nothing if it is valid. */
export function problemsOf(event: { class_uid: number }) {
	const validator = validators.get(event.class_uid);
	if (!validator) return [`There is no class ${event.class_uid}.`];
	// As it is sent: without undefined.
	return validator
		.validate(JSON.parse(JSON.stringify(event)))
		.errors.map(({ instanceLocation, error }) => `${instanceLocation}: ${error}`);
}
