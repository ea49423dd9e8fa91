import { useEffect, useState } from "preact/hooks";
import { download } from "../../download.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { say } from "../../ui/feedback.tsx";
import { Choice, Form, Group, text } from "../../ui/form.tsx";

const FORMATS = [
	["csv", "text/csv", "CSV", "For spreadsheets. Texts that look like formulas are made harmless."],
	[
		"ndjson",
		"application/x-ndjson",
		"JSON lines",
		"For programs: one entry a line, with exact values.",
	],
] as const;

const SIZE = new Intl.NumberFormat(undefined, {
	style: "unit",
	unit: "kilobyte",
	maximumFractionDigits: 0,
});

const isAbort = (error: unknown) => error instanceof DOMException && error.name === "AbortError";

/**
 * Downloads what the filters match, of any size.
 * @param path of the API, with the filters
 * @param what such as "1,234 entries"
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
		<Dialog title="Download" onClose={onClose}>
			<Form
				action="Download"
				asks={false}
				onCancel={onClose}
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
					say(`${file} is complete.`);
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
				{bytes !== undefined && <p role="status">{SIZE.format(bytes / 1000)} so far…</p>}
			</Form>
		</Dialog>
	);
}
