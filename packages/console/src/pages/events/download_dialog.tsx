import { useEffect, useState } from "preact/hooks";
import { download } from "../../download.ts";
import { say } from "../../ui/feedback.tsx";
import { Choice, FormDialog, Group, text } from "../../ui/form.tsx";

const FORMATS = [
	["csv", "text/csv", "CSV", "For spreadsheets. Values that look like formulas are escaped."],
	[
		"ndjson",
		"application/x-ndjson",
		"JSON Lines",
		"For programs. One entry per line, with exact values.",
	],
] as const;

const SIZE = new Intl.NumberFormat(undefined, {
	style: "unit",
	unit: "kilobyte",
	maximumFractionDigits: 0,
});

const isAbort = (error: unknown) => error instanceof DOMException && error.name === "AbortError";

/**
 * Downloads everything that matches the filters.
 * @param path the path in the API, with the filters
 * @param what a description of the content, such as "1,234 entries"
 */
export function DownloadDialog({
	path,
	name,
	what,
	onClose,
}: {
	path: string;
	name: string;
	what: string;
	onClose: () => void;
}) {
	const [bytes, setBytes] = useState<number>();
	const [controller] = useState(() => new AbortController());
	// Closing the dialog ends the transfer.
	useEffect(() => () => controller.abort(), []);
	return (
		<FormDialog
			title="Download"
			action="Download"
			asks={false}
			onClose={onClose}
			onSubmit={async (fields) => {
				const [ending, accept] =
					FORMATS.find(([ending]) => ending === text(fields, "format")) ?? FORMATS[0];
				const file = `${name}.${ending}`;
				try {
					await download(
						path,
						{ accept, name: file },
						{ signal: controller.signal, onBytes: setBytes },
					);
				} catch (error) {
					if (isAbort(error)) return;
					throw error;
				}
				say(`Downloaded ${file}.`);
				onClose();
			}}
		>
			<p>{what}.</p>
			<Group label="Format">
				{FORMATS.map(([ending, , label, hint], i) => (
					<Choice
						key={ending}
						name="format"
						value={ending}
						label={label}
						hint={hint}
						defaultChecked={i === 0}
					/>
				))}
			</Group>
			{bytes !== undefined && <p role="status">{SIZE.format(bytes / 1000)} downloaded…</p>}
		</FormDialog>
	);
}
