import type { Webhook } from "tenantry-client";
import { Field, Select } from "../../ui/form.tsx";

export type Format = Webhook["format"];

type About = {
	words: string;
	placeholder: string;
	/** Where the URL comes from, or what it must do. */
	hint: string;
};

const FORMATS: Record<Format, About> = {
	standard: {
		words: "Your own endpoint",
		placeholder: "https://example.com/hooks",
		hint: "Receives a POST request for each event. It must respond with a 2xx status within 15 seconds.",
	},
	slack: {
		words: "Slack",
		placeholder: "https://hooks.slack.com/services/…",
		hint: "In Slack, create an app, turn on its Incoming Webhooks, add one to a channel, and copy its URL.",
	},
	teams: {
		words: "Microsoft Teams",
		placeholder: "https://….logic.azure.com/workflows/…",
		hint: "In Teams, open the menu of a channel, choose Workflows, then “Send webhook alerts to a channel”, and copy its URL.",
	},
	pagerduty: {
		words: "PagerDuty",
		placeholder: "https://events.pagerduty.com/v2/enqueue",
		hint: "Optional: the address of a service that is compatible with PagerDuty, or of its region in the EU.",
	},
};

export const wordsOfFormat = (format: Format) => FORMATS[format].words;

const isFormat = (value: string): value is Format => Object.hasOwn(FORMATS, value);

/** A choice of where messages are sent. */
export const ChooseFormat = ({
	format,
	onChange,
}: {
	format: Format;
	onChange: (format: Format) => void;
}) => (
	<Select
		name="format"
		label="Send to"
		value={format}
		options={Object.entries(FORMATS).map(([value, { words }]) => [value, words] as const)}
		onChange={({ currentTarget }) => isFormat(currentTarget.value) && onChange(currentTarget.value)}
	/>
);

/** The fields for the address of a new webhook. */
export function AddressFields({ format, url }: { format: Format; url?: string | undefined }) {
	const { placeholder, hint } = FORMATS[format];
	return (
		<>
			{format === "pagerduty" && (
				<Field
					name="routing_key"
					label="Integration key"
					required
					maxLength={100}
					hint="In PagerDuty, add the integration “Events API V2” to a service, and copy its key. It isn’t shown again. If “Run completed” is one of the events, it resolves the alert of failed runs of the export."
				/>
			)}
			<Field
				name="url"
				label="URL"
				type="url"
				required={format !== "pagerduty"}
				maxLength={2048}
				defaultValue={url}
				placeholder={placeholder}
				hint={hint}
			/>
		</>
	);
}
