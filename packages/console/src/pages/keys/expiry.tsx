import { useState } from "preact/hooks";
import type { PersonalApiKey } from "tenantry-client";
import { Field, Select, text } from "../../ui/form.tsx";
import { fromLocal, toLocal } from "../../ui/moments.ts";
import { IN_ZONE } from "../../ui/zone.ts";
import { dayAfter, momentOf, usualExpiry } from "./states.ts";

const DAYS = [
	["7", "In 7 days"],
	["30", "In 30 days"],
	["90", "In 90 days"],
	["365", "In a year"],
] as const;

type Dates = Pick<PersonalApiKey, "expires_at">;

export function Expiry({
	before,
	current,
}: {
	/** The key to edit; undefined for a new key. */
	before: Dates | undefined;
	/** The key of this session. It can't create keys that expire later than itself. */
	current: Dates | undefined;
}) {
	const limit = current?.expires_at ?? null;
	const first = before ? (before.expires_at ? "keep" : "never") : usualExpiry(limit);
	const [choice, setChoice] = useState<string>(first);
	return (
		<>
			<Select
				name="expires_at"
				label="Expires"
				defaultValue={first}
				onChange={({ currentTarget }) => setChoice(currentTarget.value)}
				options={[
					...(before?.expires_at
						? [["keep", `Unchanged: ${momentOf(before.expires_at)}`] as const]
						: []),
					...(limit ? [["session", `When this session ends: ${momentOf(limit)}`] as const] : []),
					...DAYS,
					["date", "At a time of your choice"],
					["never", "Never"],
				]}
				hint={
					limit &&
					`The key of this session expires on ${momentOf(limit)}. It can't create keys that expire later.`
				}
			/>
			{choice === "date" && (
				<Field
					name="expires_date"
					label={`Expiry date (${IN_ZONE})`}
					type="datetime-local"
					required
					// A time in the past ends a key, but can't begin one.
					min={before ? undefined : toLocal(Date.now())}
					defaultValue={toLocal(Date.parse(before?.expires_at ?? dayAfter(30)))}
				/>
			)}
		</>
	);
}

/** Returns `expires_at` of the form; null for never. */
export function expiryIn(fields: FormData, before: Dates | undefined, current: Dates | undefined) {
	const choice = text(fields, "expires_at");
	if (choice === "keep") return before?.expires_at ?? null;
	if (choice === "session") return current?.expires_at ?? null;
	if (choice === "date") return fromLocal(text(fields, "expires_date"));
	return choice === "never" ? null : dayAfter(Number(choice));
}
