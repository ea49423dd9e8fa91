/** Parses the descriptions of settings and jobs in plugins, which may contain anything. */

import { rejection } from "../../ui/form.tsx";

type Values = Record<string, unknown>;

export const isObject = (value: unknown): value is Values =>
	typeof value === "object" && value !== null && !Array.isArray(value);

const textOf = (value: unknown) => (typeof value === "string" ? value : "");

/** Converts a value to the text of a field. */
export const shownText = (value: unknown) =>
	value === undefined || value === null
		? ""
		: typeof value === "string"
			? value
			: JSON.stringify(value, null, 2);

/**
 * Parses JSON that the user entered.
 * @param name the field that shows the error
 * @throws {TenantryError} if the text isn't valid JSON
 */
export function jsonIn(name: string, text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		throw rejection(name, "This isn't valid JSON.");
	}
}

export type SettingField = {
	key: string;
	label: string;
	/** `string`, `choice`, `json` or `attachment`. The service rejects other types. */
	type: string;
	hint: string;
	isRequired: boolean;
	isSecret: boolean;
	choices: string[];
	initial: unknown;
};

/**
 * Returns the fields of a `config_schema`, which is a list or a map by key
 * (docs/plugins.md#plugin-configs).
 */
export function fieldsOf(schema: unknown): SettingField[] {
	const entries = Array.isArray(schema)
		? schema
		: isObject(schema)
			? Object.entries(schema).map(([key, field]) =>
					isObject(field) ? { key, ...field } : { key },
				)
			: [];
	return entries.filter(isObject).flatMap((field) => {
		const key = textOf(field.key);
		if (key === "") return [];
		return {
			key,
			label: textOf(field.name) || key,
			type: textOf(field.type) || "string",
			hint: textOf(field.hint),
			isRequired: Boolean(field.required),
			isSecret: Boolean(field.secret),
			choices: Array.isArray(field.choices) ? field.choices.map(String) : [],
			initial: field.default,
		};
	});
}

export type PayloadField = {
	key: string;
	label: string;
	/** `string`, `number`, `boolean`, `date`, `daterange` or `json`. */
	type: string;
	isRequired: boolean;
	initial: unknown;
};

export type Job = {
	name: string;
	/** Undefined if the plugin doesn't describe them. The payload is then any object. */
	fields: PayloadField[] | undefined;
};

function payloadOf(job: unknown) {
	const payload = isObject(job) ? job.payload : undefined;
	if (!isObject(payload)) return undefined;
	return Object.entries(payload).map(([key, given]) => {
		const field = isObject(given) ? given : {};
		return {
			key,
			label: textOf(field.title) || textOf(field.name) || key,
			type: textOf(field.type) || "string",
			isRequired: Boolean(field.required),
			initial: field.default,
		};
	});
}

type Offers = { capabilities: { jobs?: string[] | undefined }; public_jobs: Values };

/** Returns the jobs of a plugin. Jobs with a described payload are first. */
export function jobsOf({ capabilities, public_jobs }: Offers): Job[] {
	const described = Object.entries(public_jobs).map(([name, job]) => ({
		name,
		fields: payloadOf(job),
	}));
	const others = (capabilities.jobs ?? []).filter((name) => !Object.hasOwn(public_jobs, name));
	return [...described, ...others.map((name) => ({ name, fields: undefined }))];
}

/** Parses a JSON object of the API; an empty object if the text is anything else. */
export function parsed(json: string): Values {
	try {
		const value: unknown = JSON.parse(json);
		return isObject(value) ? value : {};
	} catch {
		return {};
	}
}

const listOf = (value: unknown) => (Array.isArray(value) ? value.map(String) : []);

/** Returns the plugin in `plugin_info` of a config. */
export function pluginIn({ plugin_info }: { plugin_info: string }) {
	const plugin = parsed(plugin_info);
	const { capabilities } = plugin;
	return {
		name: textOf(plugin.name),
		tag: textOf(plugin.tag) || null,
		config_schema: plugin.config_schema,
		public_jobs: isObject(plugin.public_jobs) ? plugin.public_jobs : {},
		capabilities: {
			jobs: isObject(capabilities) ? listOf(capabilities.jobs) : [],
			scheduled_tasks: isObject(capabilities) ? listOf(capabilities.scheduled_tasks) : [],
		},
	};
}
