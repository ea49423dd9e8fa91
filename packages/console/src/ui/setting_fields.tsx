import { useState } from "preact/hooks";
import { Area, Check, Field, Select } from "./form.tsx";
import { type Config, fieldOf, labelOf, type Setting, type Way } from "./settings.ts";
import { Snippet } from "./values.tsx";

const Words = ({ text }: { text: string }) => (
	<>
		{text.split("`").map((part, i) => {
			const key = `${i} ${part}`;
			return i % 2 === 1 ? <code key={key}>{part}</code> : <span key={key}>{part}</span>;
		})}
	</>
);

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

/** Returns the options of a setting. The first one is the default. */
function choicesOf({ choices = [], otherwise, isRequired }: Setting, stored: unknown) {
	const others = choices
		.filter(([value]) => value !== otherwise || value === stored)
		.map(
			([value, words]) => [value, words ? `${value}: ${words.replace(/\.$/, "")}` : value] as const,
		);
	if (isRequired) return others;
	const words = otherwise ? capital(otherwise) : "Not set";
	const isSaid = !otherwise || otherwise.includes("default");
	return [["", isSaid ? words : `${words} (default)`] as const, ...others];
}

const textOf = (stored: unknown) =>
	Array.isArray(stored)
		? stored.join("\n")
		: stored === undefined || stored === null
			? ""
			: String(stored);

export const Optional = ({ label }: { label: string }) => (
	<>
		{label} <span class="export-optional">optional</span>
	</>
);

/** The field of a setting. Stored secrets are never shown. */
function SettingField({
	setting,
	stored,
	isNew,
}: {
	setting: Setting;
	stored: unknown;
	isNew: boolean;
}) {
	const { name, kind, description, otherwise, isRequired, mayBeEmpty, isUrl, isLong } = setting;
	const label = labelOf(name);
	const hint = <Words text={description} />;
	const isKept = kind === "secret" && !isNew;
	const common = {
		name: fieldOf(name),
		label:
			isRequired || kind === "boolean" || kind === "choice" ? label : <Optional label={label} />,
		hint,
		required: isRequired && !mayBeEmpty && !isKept,
		maxLength: setting.maxLength,
		placeholder: isKept ? "Leave empty to keep the stored value" : otherwise,
	};
	switch (kind) {
		case "boolean":
			return (
				<Check name={fieldOf(name)} label={label} hint={hint} defaultChecked={stored === true} />
			);
		case "choice":
			return (
				<Select
					name={fieldOf(name)}
					label={label}
					options={choicesOf(setting, stored)}
					defaultValue={textOf(stored)}
				/>
			);
		case "list":
			return (
				<Area
					{...common}
					placeholder="One name per line"
					rows={3}
					spellcheck={false}
					defaultValue={textOf(stored)}
				/>
			);
		case "secret":
			return isLong ? (
				<Area {...common} class="masked" autocomplete="off" spellcheck={false} />
			) : (
				<Field {...common} type="password" autocomplete="new-password" />
			);
		case "number":
			return (
				<Field
					{...common}
					type="number"
					min={setting.min}
					max={setting.max}
					defaultValue={textOf(stored)}
				/>
			);
		default:
			return isUrl ? (
				<Field {...common} type="url" defaultValue={textOf(stored)} />
			) : (
				<Field {...common} spellcheck={false} defaultValue={textOf(stored)} />
			);
	}
}

/**
 * Whether a setting isn't under "More settings": required settings, secrets, and the format of
 * files.
 */
const isFirst = ({ isRequired, way, kind, name }: Setting) =>
	isRequired ||
	way === "role" ||
	kind === "secret" ||
	name === "file_format" ||
	name === "compression";

const WAYS = [
	["key", "A stored key"],
	["role", "A role in your cloud, without a stored key"],
] as const;

/** What has to be done in the cloud that a role is in. */
const Trust = ({ subject }: { subject: string | undefined }) => (
	<>
		<p class="soft">
			{subject
				? "Allow this subject in your cloud, then test the destination."
				: "Create it first, paused if you can: its id is part of the subject that you then allow in your cloud."}{" "}
			<a href="/docs/exports#without-stored-keys" target="_blank" rel="noopener">
				How to set up a role
			</a>
		</p>
		{subject && <Snippet value={subject} label="Copy subject" />}
	</>
);

/** The fields of a destination's settings, generated from the OpenAPI document. */
export function SettingFields({
	type,
	settings: all,
	config,
	subject,
}: {
	type: string;
	settings: readonly Setting[];
	/** The stored settings, if any. */
	config?: Config | undefined;
	/** The subject of its tokens, if it is stored. */
	subject?: string;
}) {
	const ofRole = all.filter(({ way }) => way === "role");
	const hasRole = ofRole.some(({ name }) => config?.[name]);
	const [way, setWay] = useState<Way>(hasRole ? "role" : "key");
	const settings = all
		.filter((setting) => setting.way === undefined || setting.way === way)
		.map((setting) => (setting.isRequiredForWay ? { ...setting, isRequired: true } : setting));
	const more = settings.filter((setting) => !isFirst(setting));
	const field = (setting: Setting) => (
		<SettingField
			key={`${type} ${setting.name}`}
			setting={setting}
			stored={config?.[setting.name]}
			isNew={!config || hasRole}
		/>
	);
	const isChanged = more.some(({ name }) => config?.[name] !== undefined && config[name] !== null);
	return (
		<>
			{settings.length === 0 && <p class="soft">This destination discards all rows.</p>}
			{settings.filter((setting) => isFirst(setting) && !setting.way).map(field)}
			{ofRole.length > 0 && (
				<Select
					name="destination__way"
					label="Sign in with"
					options={WAYS}
					value={way}
					onChange={({ currentTarget }) => setWay(currentTarget.value === "role" ? "role" : "key")}
				/>
			)}
			{settings.filter((setting) => isFirst(setting) && setting.way).map(field)}
			{way === "role" && <Trust subject={subject} />}
			{more.length > 0 && (
				<details class="more" open={isChanged}>
					<summary>More settings</summary>
					{more.map(field)}
				</details>
			)}
		</>
	);
}
