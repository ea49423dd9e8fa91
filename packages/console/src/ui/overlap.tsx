import type { RollWebhookBody } from "tenantry-client";
import { Choice, Group, text } from "./form.tsx";

type Overlap = NonNullable<RollWebhookBody["overlap"]>;

const WORDS: readonly (readonly [Overlap, label: string])[] = [
	["none", "Now"],
	["1h", "In an hour"],
	["24h", "In 24 hours"],
];

/** Asks when the old value of a key or secret stops working. */
export const OverlapChoice = ({
	label,
	leaked,
	chosen,
}: {
	label: string;
	/** What happens if it ends now, which is right if it leaked. */
	leaked: string;
	chosen: Overlap;
}) => (
	<Group name="overlap" label={label}>
		{WORDS.map(([value, words]) => (
			<Choice
				key={value}
				name="overlap"
				value={value}
				label={words}
				hint={value === "none" ? leaked : undefined}
				defaultChecked={value === chosen}
			/>
		))}
	</Group>
);

/** Returns the value of `OverlapChoice`. */
export const overlapIn = (fields: FormData) =>
	WORDS.find(([value]) => value === text(fields, "overlap"))?.[0];
