/** The table that the benchmark prints: a line for each figure, a column for each service. */

/** The columns, by the names of the services. */
export const COLUMNS = {
	tenantry: "Tenantry",
	again: "Tenantry again",
	floor: "handwritten",
	"hono-drizzle": "Hono + Drizzle",
	"better-auth": "better-auth",
	django: "Django + PostgreSQL",
} as const;

export type Column = keyof typeof COLUMNS;

/** A line of the table. Missing cells stay empty. `goal` is the target of its figures. */
export type Line = { title: string; cells: Partial<Record<Column, string>>; goal?: string };

export const median = (numbers: number[]) => {
	const sorted = numbers.toSorted((a, b) => a - b);
	const middle = sorted.length >> 1;
	return sorted.length % 2 === 1
		? (sorted[middle] ?? 0)
		: ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
};

/**
 * Returns the mean of the lower half of the numbers, because other load on the computer only makes
 * measurements larger.
 */
export function lowerMean(numbers: number[]) {
	const lower = numbers.toSorted((a, b) => a - b).slice(0, Math.ceil(numbers.length / 2));
	return lower.reduce((sum, each) => sum + each, 0) / lower.length;
}

/**
 * Returns a figure of all rounds and, in brackets, the same figure for every other round and for
 * the remaining rounds.
 */
export function figureOf<T>(rounds: T[], figure: (rounds: T[]) => number) {
	const all = figure(rounds).toFixed(2);
	if (rounds.length < 2) return all;
	const halves = [0, 1].map((rest) => figure(rounds.filter((_, i) => i % 2 === rest)).toFixed(2));
	return `${all} (${halves.join(", ")})`;
}

/** Returns the items in random order. */
export const shuffled = <T>(items: T[]) =>
	items
		.map((item) => ({ item, place: Math.random() }))
		.sort((a, b) => a.place - b.place)
		.map(({ item }) => item);

/** Returns the lines as a Markdown table, without empty columns. */
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

/** Sets the function that gets progress messages. By default, they are discarded. */
export function onProgress(tell: (text: string) => void) {
	listener = tell;
}

/** Reports progress, with the time. */
export const tell = (text: string) =>
	listener(`[${new Date().toISOString().slice(11, 19)}] ${text}`);

let failures = 0;

/** Returns how many parts of the table couldn't be measured. */
export const failed = () => failures;

/** Runs `work` and returns whether it succeeded. Reports and counts a failure. */
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
