/**
 * The source editor, with the grammars of the languages of plugins. It is loaded when it is first
 * shown.
 */
import { createEditor } from "prism-code-editor";
import { defaultKeymap, editHistory, editorCommands } from "prism-code-editor/commands";
import { highlightBracketPairs } from "prism-code-editor/highlight-brackets";
import { matchBrackets } from "prism-code-editor/match-brackets";
import "prism-code-editor/prism/languages/json";
import "prism-code-editor/prism/languages/tsx";
import "prism-code-editor/languages/json";
import "prism-code-editor/languages/jsx";
import "prism-code-editor/languages/clike";

const LANGUAGES: Record<string, string> = {
	js: "javascript",
	json: "json",
	jsx: "jsx",
	ts: "typescript",
	tsx: "tsx",
};

const languageOf = (filename: string) =>
	LANGUAGES[filename.slice(filename.lastIndexOf(".") + 1)] ?? "text";

/** Creates an editor for a file in an element. */
export function openEditor(
	element: HTMLElement,
	{
		filename,
		value,
		readOnly,
		describedBy,
		onChange,
	}: {
		filename: string;
		value: string;
		readOnly: boolean;
		/** The id of a hint. */
		describedBy: string;
		onChange: (value: string) => void;
	},
) {
	const editor = createEditor(
		element,
		{ language: languageOf(filename), value, readOnly, tabSize: 4, insertSpaces: false },
		editorCommands(defaultKeymap),
		editHistory(),
		matchBrackets(),
		highlightBracketPairs(),
	);
	editor.textarea.setAttribute("aria-label", filename);
	editor.textarea.setAttribute("aria-describedby", describedBy);
	// Add this listener last, because the first update is the initial value.
	editor.on("update", onChange);
	return editor;
}
