import { useEffect, useId, useRef, useState } from "preact/hooks";
import { useRoute } from "preact-iso/router";
import type { PluginSource } from "tenantry-client";
import { type Loaded, useLoad, useQuery } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { Button, SecondaryButton, SmallButton } from "../../ui/button.tsx";
import { useSave } from "../../ui/conflict.tsx";
import { confirm } from "../../ui/dialog.tsx";
import { attempt, Empty, say, warn } from "../../ui/feedback.tsx";
import { Field, FormDialog, rejection, text } from "../../ui/form.tsx";
import { type Changes, starter, useDrafts } from "./drafts.ts";
import { PluginView, useRights } from "./plugin_view.tsx";

/** The page with the source of a plugin. It can be edited if it was created here. */
export default function SourcePage() {
	const { at, organization } = useOrganization();
	const { plugin: id = "" } = useRoute().params;
	const loaded = useLoad(
		(signal) => api.pipelineDestinations.getSource({ ...at, id }, { signal }),
		[organization.id, id],
	);
	return (
		<PluginView of={loaded} tab="/source">
			{(source) => <Files key={source.id} source={source} loaded={loaded} />}
		</PluginView>
	);
}

/** Saves files, unless someone else has changed one since they were loaded. */
function useSaveFiles(
	source: PluginSource,
	loaded: Loaded<PluginSource>,
	discard: (changes: Changes) => void,
) {
	const { at } = useOrganization();
	const stored = useRef(source);
	const sent = useRef<Changes>({});
	const { save, dialog } = useSave<PluginSource, Changes>({
		read: () => api.pipelineDestinations.getSource({ ...at, id: source.id }),
		update: (read, changes) => api.pipelineDestinations.updateSource({ ...at, ...read }, changes),
		onSaved: async (saved) => {
			stored.current = saved;
			await loaded.reload();
			discard(sent.current);
		},
		labels: {},
		fields: ({ files }) => files,
	});
	async function saveFiles(changes: Changes) {
		sent.current = changes;
		if (!(await save(source, changes))) return;
		const broken = Object.keys(stored.current.errors).filter((name) => name in changes);
		if (broken.length === 0) say("The source is saved.");
		else warn(`The source is saved, but doesn't compile: ${broken.join(", ")}.`);
	}
	return { saveFiles, dialog };
}

/** Returns why the source can't be edited; undefined if it can. */
function useReason({ plugin_type, url, ...plugin }: PluginSource) {
	const { isOwn, canChangeCode } = useRights({ plugin_type, url, ...plugin });
	if (!isOwn) return "This plugin belongs to another organization, so you can only read it.";
	if (plugin_type !== "source")
		return url
			? "This plugin was installed from a URL. To change its code, change it there, then upgrade."
			: "Plugins of this type can't be edited.";
	if (!canChangeCode) return "This plugin runs with secrets, so only admins can change it.";
	return undefined;
}

/** Returns the compile errors of saved files, without files that have unsaved changes. */
const errorsOf = ({ errors }: PluginSource, changes: Changes) =>
	Object.entries(errors).filter(([name]) => !(name in changes));

const isEmpty = (files: Record<string, string>) => Object.keys(files).length === 0;

function Files({ source, loaded }: { source: PluginSource; loaded: Loaded<PluginSource> }) {
	const reason = useReason(source);
	const isEditable = reason === undefined;
	const [{ file }, change] = useQuery();
	const drafts = useDrafts(
		source.id,
		source.files,
		isEditable && isEmpty(source.files) ? starter(source) : {},
	);
	const { saveFiles, dialog } = useSaveFiles(source, loaded, drafts.discard);
	const [isAdding, setAdding] = useState(false);
	const names = Object.keys(drafts.files).sort();
	const current = file !== undefined && names.includes(file) ? file : names[0];
	const open = (name: string) => change({ file: name });
	const errors = new Map(errorsOf(source, drafts.changes));

	if (!isEditable && current === undefined) return <Empty title="No source">{reason}</Empty>;
	return (
		<>
			{reason && <p class="lead">{reason}</p>}
			<div class="source">
				<FileList
					names={names}
					current={current}
					changed={Object.keys(drafts.changes)}
					broken={[...errors.keys()]}
					onOpen={open}
					onAdd={isEditable ? () => setAdding(true) : undefined}
				/>
				{current !== undefined && (
					<Editor
						key={current}
						filename={current}
						value={drafts.files[current] ?? ""}
						error={errors.get(current)}
						isReadOnly={!isEditable}
						onChange={(text) => drafts.write(current, text)}
					/>
				)}
			</div>
			{isEditable && <SaveBar current={current} drafts={drafts} onSave={saveFiles} />}
			{isAdding && (
				<AddFile
					names={names}
					onClose={() => setAdding(false)}
					onAdd={(name) => {
						setAdding(false);
						drafts.write(name, "");
						open(name);
					}}
				/>
			)}
			{dialog}
		</>
	);
}

/** The state of unsaved changes, and the buttons for the current file and for all changes. */
function SaveBar({
	current,
	drafts,
	onSave,
}: {
	current: string | undefined;
	drafts: ReturnType<typeof useDrafts>;
	onSave: (changes: Changes) => Promise<void>;
}) {
	async function discard() {
		const isSure = await confirm({
			title: "Discard your changes?",
			text: "All files are reset to the saved version.",
			action: "Discard changes",
		});
		if (isSure) drafts.discard(drafts.changes);
	}
	return (
		<div class="source-buttons">
			<span role="status">
				{drafts.isChanged
					? `Unsaved: ${Object.keys(drafts.changes).sort().join(", ")}`
					: "All changes are saved."}
			</span>
			<span class="row">
				{current !== undefined && (
					<SecondaryButton onPress={() => drafts.write(current, null)}>
						Delete {current}
					</SecondaryButton>
				)}
				{drafts.isChanged && <SecondaryButton onPress={discard}>Discard changes</SecondaryButton>}
				<Button isOff={!drafts.isChanged} onPress={() => onSave(drafts.changes)}>
					Save
				</Button>
			</span>
		</div>
	);
}

function FileList({
	names,
	current,
	changed,
	broken,
	onOpen,
	onAdd,
}: {
	names: string[];
	current: string | undefined;
	changed: string[];
	/** The files that don't compile. */
	broken: string[];
	onOpen: (name: string) => void;
	onAdd: (() => void) | undefined;
}) {
	return (
		<nav class="files" aria-label="Files">
			<ul>
				{names.map((name) => (
					<li key={name}>
						<button
							type="button"
							class="plain"
							aria-current={name === current ? "true" : undefined}
							onClick={() => onOpen(name)}
						>
							{name}
							{changed.includes(name) && (
								<>
									<span class="unsaved" aria-hidden="true" />
									<span class="unseen">, unsaved</span>
								</>
							)}
							{broken.includes(name) && (
								<>
									<span class="broken" aria-hidden="true">
										×
									</span>
									<span class="unseen">, doesn't compile</span>
								</>
							)}
						</button>
					</li>
				))}
			</ul>
			{onAdd && <SmallButton onPress={onAdd}>Add file</SmallButton>}
		</nav>
	);
}

function AddFile({
	names,
	onClose,
	onAdd,
}: {
	names: string[];
	onClose: () => void;
	onAdd: (name: string) => void;
}) {
	return (
		<FormDialog
			title="Add file"
			action="Add file"
			onClose={onClose}
			onSubmit={async (fields) => {
				const name = text(fields, "filename");
				if (names.includes(name)) throw rejection("filename", `The file ${name} already exists.`);
				onAdd(name);
			}}
		>
			<Field
				name="filename"
				label="Name"
				required
				maxlength={200}
				hint={
					<>
						<code>index.ts</code> runs in jobs, <code>site.ts</code> and <code>frontend.tsx</code>{" "}
						run in browsers. <code>plugin.json</code> defines the name and the settings.
					</>
				}
			/>
		</FormDialog>
	);
}

type Opened = ReturnType<typeof import("./editor.ts").openEditor>;

/** Returns the line of an error, which ends with "(line:column)". */
function lineOf(error: string) {
	const [, line] = /\((\d+):\d+\)$/.exec(error) ?? [];
	return line === undefined ? undefined : Number(line);
}

function placeOf(line: number, text: string) {
	const before = text.split("\n").slice(0, line - 1);
	const start = before.reduce((sum, { length }) => sum + length + 1, 0);
	const end = text.indexOf("\n", start);
	return [start, end < 0 ? text.length : end] as const;
}

function CompileError({
	error,
	isOpen,
	onSelect,
}: {
	/** Undefined if it compiles. */
	error: string | undefined;
	/** Whether the editor has loaded. */
	isOpen: boolean;
	onSelect: (line: number) => void;
}) {
	const line = error === undefined ? undefined : lineOf(error);
	return (
		<div class={error === undefined ? undefined : "problem"}>
			{/* Screen readers announce changes of this element, so it exists before there is an error. */}
			<div role="status">
				{error !== undefined && (
					<p>
						<strong>This file doesn't compile.</strong> {error}
					</p>
				)}
			</div>
			{line !== undefined && (
				<button
					type="button"
					class="secondary outline small"
					disabled={!isOpen}
					onClick={() => onSelect(line)}
				>
					Go to line {line}
				</button>
			)}
		</div>
	);
}

type Content = {
	filename: string;
	value: string;
	isReadOnly: boolean;
	onChange: (value: string) => void;
};

/** Opens the editor in the element `place`. `select` goes to a line. */
function useEditor({ filename, value, isReadOnly, onChange }: Content, describedBy: string) {
	const place = useRef<HTMLDivElement>(null);
	const editor = useRef<Opened>(undefined);
	const latest = useRef({ value, onChange });
	latest.current = { value, onChange };
	const [isOpen, setOpen] = useState(false);

	useEffect(() => {
		let isGone = false;
		attempt(async () => {
			const { openEditor } = await import("./editor.ts");
			if (isGone || !place.current) return;
			editor.current = openEditor(place.current, {
				filename,
				value: latest.current.value,
				readOnly: isReadOnly,
				describedBy,
				onChange: (text) => latest.current.onChange(text),
			});
			setOpen(true);
		});
		return () => {
			isGone = true;
			editor.current?.remove();
			editor.current = undefined;
		};
	}, []);
	useEffect(() => {
		// Apply changes that the user didn't type, such as discarding.
		if (editor.current && editor.current.value !== value) editor.current.setOptions({ value });
	}, [value]);

	function select(line: number) {
		const { textarea } = editor.current ?? {};
		if (!textarea) return;
		// Use the text of the textarea, which converts all line ends to \n.
		textarea.setSelectionRange(...placeOf(line, textarea.value));
		// This also scrolls to the selection.
		textarea.focus();
	}
	return { place, isOpen, select };
}

function Editor({
	error,
	...content
}: Content & {
	/** The compile error, if there is one. */
	error: string | undefined;
}) {
	const hint = useId();
	const { place, isOpen, select } = useEditor(content, hint);
	return (
		<div class="editor">
			<CompileError error={error} isOpen={isOpen} onSelect={select} />
			<div ref={place} class="editor-place" aria-busy={!isOpen} />
			<small id={hint} class="hint">
				{content.isReadOnly
					? "This file is read-only."
					: "Tab indents. To leave the editor, press Escape, then Tab."}
			</small>
		</div>
	);
}
