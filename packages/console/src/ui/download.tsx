import { useEffect, useState } from "preact/hooks";
import { download } from "../download.ts";
import { SecondaryButton } from "./button.tsx";
import { say } from "./feedback.tsx";
import { Choice, FormDialog, Group, text } from "./form.tsx";
import { formatNumber } from "./values.tsx";

const FORMATS = [
	["csv", "text/csv", "CSV", "For spreadsheets. Values that look like formulas are escaped."],
	[
		"ndjson",
		"application/x-ndjson",
		"JSON Lines",
		"For programs. One line each, with exact values.",
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

/** A button for downloading a list of the API, with the filters of the page. */
export function Download({
	path,
	filters,
	name,
	count = 0,
	words: [one, many],
}: {
	/** The path of the list. */
	path: string;
	filters: Record<string, string>;
	/** The name of the file, without date and extension. */
	name: string;
	count: number | undefined;
	/** The word for a row, and for several. */
	words: readonly [one: string, many: string];
}) {
	const [isOpen, setOpen] = useState(false);
	const query = new URLSearchParams(filters);
	return (
		<>
			<SecondaryButton onPress={() => setOpen(true)}>Download…</SecondaryButton>
			{isOpen && (
				<DownloadDialog
					path={`${path}?${query}`}
					name={`${name}-${new Date().toISOString().slice(0, 10)}`}
					what={`${formatNumber(count)} ${count === 1 ? one : many}${query.size > 0 ? ", filtered" : ""}`}
					onClose={() => setOpen(false)}
				/>
			)}
		</>
	);
}
