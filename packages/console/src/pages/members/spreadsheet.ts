/*
 * Rows that are pasted from a spreadsheet, separated by tabs, commas or semicolons, with a header.
 */
import type { CreateInviteBody } from "tenantry-client";

type Access = NonNullable<CreateInviteBody["private_project_access"]>;

/** What a row says about a person besides the address. */
export type Said = { level?: 1 | 8 | 15; projects?: Access; line: string };

type Column = "email" | "first_name" | "level" | "projects";

/** The titles of columns, in lower case without marks. */
const TITLES: Record<Column, readonly string[]> = {
	email: ["email", "e mail", "mail", "email address", "e mail address", "address"],
	first_name: ["name", "first name", "firstname", "given name", "full name"],
	level: ["level", "role", "access", "access level"],
	projects: ["project", "projects", "private projects"],
};

const LEVELS = new Map<string, 1 | 8 | 15>([
	["1", 1],
	["member", 1],
	["8", 8],
	["admin", 8],
	["15", 15],
	["owner", 15],
]);

export type Row = { email: string; name: string; said: Said };

export type Sheet = {
	header: string;
	rows: Row[];
	/** What is wrong with some rows. */
	problems: string[];
	/** The titles of columns that aren't used. */
	ignored: string[];
};

/** Returns the cells of each line. A cell in quotation marks may contain separators and line breaks. */
function cellsIn(text: string, separator: string) {
	const lines: { cells: string[]; line: string }[] = [];
	let [cells, cell, start, isQuoted] = [[] as string[], "", 0, false];
	function end(at: number) {
		const line = text.slice(start, at);
		if (line.trim()) lines.push({ cells: [...cells, cell].map((one) => one.trim()), line });
		[cells, cell, start] = [[], "", at + 1];
	}
	for (let at = 0; at < text.length; at++) {
		const character = text[at] ?? "";
		if (character === '"') {
			// Two in a quoted cell are one of its text.
			if (isQuoted && text[at + 1] === '"') cell += text[++at];
			else if (isQuoted || cell.trim() === "") isQuoted = !isQuoted;
			else cell += character;
		} else if (isQuoted || (character !== separator && character !== "\n")) cell += character;
		else if (character === separator) {
			cells.push(cell);
			cell = "";
		} else end(at);
	}
	end(text.length);
	return lines;
}

const plain = (title: string) =>
	title
		.toLowerCase()
		.replace(/[^\p{L}\p{N}]+/gu, " ")
		.trim();

const columnOf = (title: string) =>
	(["email", "first_name", "level", "projects"] as const).find((column) =>
		TITLES[column].includes(plain(title)),
	);

type Project = { id: number; name: string };

/** Returns the projects of a cell, such as "Website, Shop (admin)". */
function projectsIn(cell: string, projects: readonly Project[]) {
	const access: Access = [];
	const unknown: string[] = [];
	for (const part of cell.split(/[,;|\n]/).map((one) => one.trim())) {
		if (part === "") continue;
		const [, name = part, level = "member"] =
			/^(.*\S)\s*\((member|admin)\)$/i.exec(part)?.map(String) ?? [];
		const project = projects.find((one) => one.name.toLowerCase() === name.toLowerCase());
		if (project) access.push({ id: project.id, level: level.toLowerCase() === "admin" ? 8 : 1 });
		else unknown.push(name);
	}
	return { access, unknown };
}

/**
 * Returns the rows of a pasted spreadsheet; undefined if the text has no header with a column of
 * addresses, as a list of addresses doesn't.
 * @param projects those that people can be invited to
 */
export function sheetIn(text: string, projects: readonly Project[]): Sheet | undefined {
	const [first = ""] = text.trimStart().split("\n");
	const separator = ["\t", ";", ","].find((one) => first.includes(one)) ?? "\t";
	const [head, ...lines] = cellsIn(text.replaceAll("\r", ""), separator);
	const columns = head?.cells.map(columnOf) ?? [];
	if (!head || !columns.includes("email")) return undefined;
	const sheet: Sheet = { header: head.line, rows: [], problems: [], ignored: [] };
	sheet.ignored = head.cells.filter((title, i) => title !== "" && !columns[i]);
	for (const { cells, line } of lines) {
		const cell = (column: Column) => cells[columns.indexOf(column)] ?? "";
		const email = cell("email");
		const said: Said = { line };
		const level = LEVELS.get(cell("level").toLowerCase());
		if (level) said.level = level;
		else if (cell("level")) sheet.problems.push(`${email}: “${cell("level")}” isn't a level.`);
		const { access, unknown } = projectsIn(cell("projects"), projects);
		for (const name of unknown) sheet.problems.push(`${email}: “${name}” isn't a private project.`);
		// Admins can access all projects.
		if (columns.includes("projects") && (level ?? 1) === 1) said.projects = access;
		sheet.rows.push({ email, name: cell("first_name"), said });
	}
	return sheet;
}
