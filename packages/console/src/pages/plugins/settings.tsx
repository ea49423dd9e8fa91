import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { SmallButton } from "../../ui/button.tsx";
import { Area, Check, Field, Group, Select, text } from "../../ui/form.tsx";
import { jsonIn, type SettingField, shownText } from "./schema.ts";
import { Hint } from "./words.tsx";

type Values = Record<string, unknown>;

/** Returns the name of a setting in forms, which is the `attr` of its errors. */
export const nameOfSetting = (key: string) => `config__${key}`;

const HOSTS = "allowed_hosts";

/**
 * Every plugin has the setting for allowed hosts, even if its schema doesn't
 * (docs/plugins.md#the-sandbox).
 */
const hasHosts = (fields: SettingField[]) => fields.some(({ key }) => key === HOSTS);

const hostsText = (value: unknown) =>
	Array.isArray(value) ? value.map(String).join(", ") : shownText(value);

/**
 * The fields of a plugin's settings. `stored` has the current values; undefined for a new config.
 */
export const SettingFields = ({
	fields,
	stored,
}: {
	fields: SettingField[];
	stored: Values | undefined;
}) => (
	<>
		{fields.map((field) => (
			<Setting key={field.key} field={field} stored={stored} />
		))}
		{!hasHosts(fields) && (
			<Field
				name={nameOfSetting(HOSTS)}
				label="Allowed hosts"
				placeholder="api.example.com"
				defaultValue={hostsText(stored?.[HOSTS])}
				hint="The hosts that the plugin can connect to, separated by commas. If empty, it can't connect to any."
			/>
		)}
	</>
);

function Setting({ field, stored }: { field: SettingField; stored: Values | undefined }) {
	const { key, label, type, hint, isRequired, isSecret, choices, initial } = field;
	const value = stored && Object.hasOwn(stored, key) ? stored[key] : stored ? undefined : initial;
	const words = isRequired ? (
		label
	) : (
		<>
			{label} <span class="optional">Optional</span>
		</>
	);
	const common = {
		name: nameOfSetting(key),
		label: words,
		...(hint && { hint: <Hint text={hint} /> }),
	};
	if (isSecret) return <Secret field={field} isStored={shownText(stored?.[key]) !== ""} />;
	if (type === "choice")
		return (
			<Select
				{...common}
				defaultValue={shownText(value)}
				options={[
					["", isRequired ? "Choose…" : "None"],
					...choices.map((one): Option => [one, one]),
				]}
			/>
		);
	if (type === "json")
		return <Area {...common} class="code" spellcheck={false} defaultValue={shownText(value)} />;
	if (type === "attachment") return <Attachment {...common} value={shownText(value)} />;
	return <Field {...common} defaultValue={shownText(value)} />;
}

type Option = readonly [string, string];

const removalOf = (key: string) => `remove__${key}`;

/**
 * The field of a secret. A saved secret isn't loaded, and stays unless the user replaces or removes
 * it.
 */
function Secret({ field, isStored }: { field: SettingField; isStored: boolean }) {
	const { key, label, hint, isRequired } = field;
	const [isReplacing, setReplacing] = useState(!isStored);
	const [isRemoving, setRemoving] = useState(false);
	const replacement = useRef<HTMLDivElement>(null);
	useLayoutEffect(() => {
		if (isReplacing && isStored) replacement.current?.querySelector("input")?.focus();
	}, [isReplacing]);
	const name = nameOfSetting(key);
	if (isReplacing)
		return (
			<div ref={replacement}>
				<Field
					name={name}
					type="password"
					autocomplete="new-password"
					label={
						<>
							{label} {!isRequired && <span class="optional">Optional</span>}
						</>
					}
					hint={
						<>
							{hint && <Hint text={hint} />} It is stored encrypted and never shown again.
							{isStored && " Leave it empty to keep the saved value."}
						</>
					}
				/>
			</div>
		);
	return (
		<Group label={label}>
			{hint && (
				<small class="hint">
					<Hint text={hint} />
				</small>
			)}
			<div class="row">
				<span class="saved-secret">A value is saved</span>
				<SmallButton onPress={() => setReplacing(true)}>Replace</SmallButton>
			</div>
			{!isRequired && (
				<Check
					name={removalOf(key)}
					label="Remove the saved value"
					checked={isRemoving}
					onChange={setRemoving}
				/>
			)}
		</Group>
	);
}

/** A field for the text of a file, which users can choose or enter. */
function Attachment({ value, ...field }: Parameters<typeof Area>[0] & { value: string }) {
	const area = useRef<HTMLDivElement>(null);
	return (
		<div ref={area}>
			<Area {...field} class="code" spellcheck={false} defaultValue={value} />
			<label class="attachment">
				<span>Or choose a file</span>
				<input
					type="file"
					onChange={async ({ currentTarget }) => {
						const text = await currentTarget.files?.[0]?.text();
						const control = area.current?.querySelector("textarea");
						if (control && text !== undefined) control.value = text;
					}}
				/>
			</label>
		</div>
	);
}

/**
 * Returns the value for the API. A JSON field sends text if its current value or default is text.
 */
function settingOf({ type, key, initial }: SettingField, given: string, stored: unknown) {
	if (type !== "json" || given === "") return given;
	const value = jsonIn(nameOfSetting(key), given);
	const before = stored ?? initial;
	return before === undefined || typeof before === "string" ? given : value;
}

/**
 * Returns the settings in a form that differ from the stored ones, by key.
 * @throws {TenantryError} if a text isn't valid JSON
 */
export function changedSettings(fields: SettingField[], form: FormData, stored: Values): Values {
	const changes: [string, unknown][] = [];
	for (const field of fields) {
		const { key, isSecret } = field;
		const given = text(form, nameOfSetting(key));
		if (isSecret) {
			if (form.has(removalOf(key))) changes.push([key, ""]);
			else if (given !== "") changes.push([key, given]);
		} else if (given !== shownText(stored[key]).trim())
			changes.push([key, settingOf(field, given, stored[key])]);
	}
	const hosts = text(form, nameOfSetting(HOSTS));
	if (!hasHosts(fields) && hosts !== hostsText(stored[HOSTS])) changes.push([HOSTS, hosts]);
	return Object.fromEntries(changes);
}
