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

/** A line of the table. Missing cells stay empty. `goal`: what its figures are meant to be. */
export type Line = { title: string; cells: Partial<Record<Column, string>>; goal?: string };

export const median = (numbers: number[]) => {
	const sorted = numbers.toSorted((a, b) => a - b);
	const middle = sorted.length >> 1;
	return sorted.length % 2 === 1
		? (sorted[middle] ?? 0)
		: ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
};

/** The mean of the lower half of the numbers: whatever else the computer does only makes a measurement larger. */
export function lowerMean(numbers: number[]) {
	const lower = numbers.toSorted((a, b) => a - b).slice(0, Math.ceil(numbers.length / 2));
	return lower.reduce((sum, each) => sum + each, 0) / lower.length;
}

/** A figure of all rounds and, in brackets, the same of every other round and of the rest. */
export function figureOf<T>(rounds: T[], figure: (rounds: T[]) => number) {
	const all = figure(rounds).toFixed(2);
	if (rounds.length < 2) return all;
	const halves = [0, 1].map((rest) => figure(rounds.filter((_, i) => i % 2 === rest)).toFixed(2));
	return `${all} (${halves.join(", ")})`;
}

/** The items in another order. */
export const shuffled = <T>(items: T[]) =>
	items
		.map((item) => ({ item, place: Math.random() }))
		.sort((a, b) => a.place - b.place)
		.map(({ item }) => item);

/** The lines as Markdown, without columns that are empty. */
export function toMarkdown(lines: Line[]) {
	const names: Column[] = ["tenantry", "again", "floor", "hono-drizzle", "better-auth", "django"];
	const columns = names.filter((name) => lines.some(({ cells }) => cells[name] !== undefined));
	const hasGoals = lines.some(({ goal }) => goal !== undefined);
	const row = (title: string, cells: string[], goal: string) =>
		`| ${[title, ...cells, ...(hasGoals ? [goal] : [])].join(" | ")} |`;
	return [
		row(
			"",
			Array.from(columns, (name) => COLUMNS[name]),
			"Goal",
		),
		row(
			"---",
			Array.from(columns, () => "---"),
			"---",
		).replaceAll(" ", ""),
		...lines.map(({ title, cells, goal = "" }) =>
			row(
				title,
				Array.from(columns, (name) => cells[name] ?? ""),
				goal,
			),
		),
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

let failures = 0;

/** How many parts of the table couldn't be measured. */
export const failed = () => failures;

/** Does some work, and returns whether it succeeded; if not, says so. */
export async function attempt(what: string, work: () => Promise<unknown>) {
	try {
		await work();
		return true;
	} catch (error) {
		failures += 1;
		tell(`Failed, and left out of the table: ${what}. ${String(error).slice(0, 500)}`);
		return false;
	}
}
