/** The table that the bench prints: a line for each figure, a column for each service. */

/** The columns, by the names of the services. */
export const COLUMNS = {
	tenantry: "Tenantry",
	again: "Tenantry again",
	floor: "by hand",
	"hono-drizzle": "Hono + Drizzle",
	"better-auth": "better-auth",
	django: "Django + PostgreSQL",
} as const;

export type Column = keyof typeof COLUMNS;

/** A line of the table. Missing cells stay empty. */
export type Line = { title: string; cells: Partial<Record<Column, string>> };

export const median = (numbers: number[]) => {
	const sorted = numbers.toSorted((a, b) => a - b);
	const middle = sorted.length >> 1;
	return sorted.length % 2 === 1
		? (sorted[middle] ?? 0)
		: ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
};

/** The median, with the least and the most. */
export const range = (numbers: number[]) =>
	`${median(numbers).toFixed(2)} (${Math.min(...numbers).toFixed(2)} to ${Math.max(...numbers).toFixed(2)})`;

/** The lines as Markdown, without columns that are empty. */
export function toMarkdown(lines: Line[]) {
	const names: Column[] = ["tenantry", "again", "floor", "hono-drizzle", "better-auth", "django"];
	const columns = names.filter((name) => lines.some(({ cells }) => cells[name] !== undefined));
	const row = (cells: string[]) => `| ${cells.join(" | ")} |`;
	return [
		row(["", ...columns.map((name) => COLUMNS[name])]),
		row(["---", ...columns.map(() => "---")]).replaceAll(" ", ""),
		...lines.map(({ title, cells }) => row([title, ...columns.map((name) => cells[name] ?? "")])),
	].join("\n");
}

let listener = (_: string) => {};

/** Sets who is told how far the bench is; by default nobody. */
export function onProgress(tell: (text: string) => void) {
	listener = tell;
}

/** Tells how far the bench is. */
export const tell = (text: string) =>
	listener(`[${new Date().toISOString().slice(11, 19)}] ${text}`);
