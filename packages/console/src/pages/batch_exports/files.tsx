import { useState } from "preact/hooks";
import type { BatchExportFile, BatchExportRun } from "tenantry-client";
import { download } from "../../download.ts";
import { useList } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { Button } from "../../ui/button.tsx";
import { Empty, say } from "../../ui/feedback.tsx";
import { Section } from "../../ui/page.tsx";
import { buttons, type Column, Table } from "../../ui/table.tsx";
import { Count, Time } from "../../ui/values.tsx";

/** A row of the table. */
type File = BatchExportFile & { id: string };

const UNITS = ["byte", "kilobyte", "megabyte", "gigabyte"] as const;

/** Formats a size, such as "1.3 MB". */
function size(bytes: number) {
	const step = Math.min(UNITS.length - 1, Math.max(0, Math.floor(Math.log10(bytes) / 3)));
	const format = { style: "unit", unit: UNITS[step], maximumFractionDigits: 1 } as const;
	return new Intl.NumberFormat(undefined, format).format(bytes / 1000 ** step);
}

/** Downloads a file. In browsers that can't write files, it is in memory until it is complete. */
function Download({ path, of }: { path: string; of: File }) {
	const [received, setReceived] = useState<number>();
	async function save() {
		try {
			await download(
				`${path}/${encodeURIComponent(of.name)}`,
				{ accept: "*/*", name: of.name },
				{ signal: new AbortController().signal, onBytes: setReceived },
			);
			say(`Downloaded ${of.name}.`);
		} finally {
			setReceived(undefined);
		}
	}
	return (
		<Button class="secondary outline small" aria-label={`Download ${of.name}`} onPress={save}>
			{received === undefined ? "Download" : `${Math.floor((received / of.bytes) * 100)} %`}
		</Button>
	);
}

const columnsOf = (path: string): Column<File>[] => [
	{ title: "Name", cell: ({ name }) => <span class="file-name">{name}</span> },
	{ title: "Rows", align: "end", cell: ({ rows }) => <Count value={rows} /> },
	{ title: "Size", align: "end", cell: ({ bytes }) => <span class="nowrap">{size(bytes)}</span> },
	buttons((of) => <Download path={path} of={of} />),
];

/**
 * The files that a run has written to the service's own bucket.
 * @param expires_at when they are deleted, if it is a one-off export
 */
export function Files({ run, expires_at }: { run: BatchExportRun; expires_at: string | null }) {
	const { at } = useOrganization();
	const parameters = { ...at, id: run.batch_export, run: run.id };
	const list = useList<File>(
		async (page, signal) => {
			const { results, ...rest } = await api.batchExports.listRunFiles(
				{ ...parameters, ...page },
				{ signal },
			);
			return { ...rest, results: results.map((file) => ({ ...file, id: file.name })) };
		},
		[run.id, run.finished_at],
		{ parameter: "files" },
	);
	const path = `/api/organizations/${at.organization}/batch_exports/${run.batch_export}/runs/${run.id}/files`;
	return (
		<Section title="Files">
			{expires_at !== null && (
				<p class="soft">
					The export and its files are deleted <Time value={expires_at} isRelative />.
				</p>
			)}
			<Table
				list={list}
				label="Files"
				columns={columnsOf(path)}
				empty={
					<Empty title="No files">
						{run.status === "Completed"
							? "The range has no rows."
							: "Files appear when the run is complete."}
					</Empty>
				}
			/>
		</Section>
	);
}
