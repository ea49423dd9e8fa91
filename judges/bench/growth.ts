/** Measures how many rows the first page of each list reads as the list grows. */
import { readFileSync } from "node:fs";
import * as z from "zod";
import { BOUNDED } from "./bounded.ts";
import { IDS, LISTS } from "./lists.ts";
import { COUNTS, MANY, ONCE, OWNERS } from "./rows.ts";
import { createOwner, insertRows, type Owner, type Stores } from "./seed.ts";
import { type Line, tell } from "./table.ts";
import { migrate, type RunningWorker } from "./workers.ts";

const Operation = z.object({
	operationId: z.string(),
	parameters: z.array(z.object({ name: z.string().optional() })).default([]),
});

const Document = z.object({
	paths: z.record(z.string(), z.object({ get: Operation.optional() })),
});

const Body = z.object({ count: z.int().optional(), results: z.array(z.unknown()) });

/** Returns the paths of all lists of the API, by operation id. */
export function listPaths() {
	const { paths } = Document.parse(
		JSON.parse(readFileSync(`${import.meta.dirname}/../../public/openapi.json`, "utf8")),
	);
	return Object.fromEntries(
		Object.entries(paths).flatMap(([path, { get }]) =>
			get?.parameters.some(({ name }) => name === "limit") ? [[get.operationId, path]] : [],
		),
	);
}

export type Reading = {
	operation: string;
	filter: string;
	/** How many rows the page reads at each size. */
	read: number[];
	/**
	 * How many rows match at each size. The event feed has no count, so for it, these are the rows of
	 * the page.
	 */
	matches: number[];
	/** How many rows the page returns at the last size. */
	answered: number;
};

/** Requests a page of a list as its owner, and returns its numbers of rows. */
async function readPage(url: URL, path: string, { operation, filter }: Reading, owner: Owner) {
	const ids = { ...IDS, ...LISTS[operation]?.ids };
	const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
		name === "organization_id"
			? owner.organization
			: name === "project_id"
				? String(owner.project)
				: (ids[name] ?? ""),
	);
	const target = new URL(`${filled}?${filter}`, url);
	const response = await fetch(target.href, { headers: { authorization: `Bearer ${owner.key}` } });
	const text = await response.text();
	if (!response.ok) throw new Error(`${target}: ${text}`);
	const timing = response.headers.get("server-timing") ?? "";
	const { results, count = results.length } = Body.parse(JSON.parse(text));
	return {
		read: Number(/d1_rows_read;desc="(\d+)"/.exec(timing)?.[1]),
		answered: results.length,
		matches: count,
	};
}

/** Limits how long a statement takes, which would be minutes. */
const ROWS_A_STATEMENT = 5000;

async function createOwners(stores: Stores) {
	const owners = new Map<string, Owner>();
	for (const [name, id] of Object.entries(OWNERS)) owners.set(name, await createOwner(stores, id));
	return owners;
}

/**
 * Fills all lists up to each of the sizes, or to their limit, and reads the first page of each list
 * with each filter.
 */
export async function watchGrowth(worker: RunningWorker, sizes: number[]) {
	const database = await worker.database();
	await migrate(database);
	const owners = await createOwners({ database, keys: await worker.keys() });
	const paths = listPaths();
	const readings = Object.entries(LISTS).flatMap(
		([operation, { few = [], inside = [], most = [] }]) =>
			["", ...few, ...inside, ...most].map(
				(filter): Reading => ({ operation, filter, read: [], matches: [], answered: 0 }),
			),
	);
	let length = 0;
	for (const size of sizes) {
		tell(`growth: filling the lists up to ${size} rows`);
		const insert = (
			table: string,
			columns: Record<string, string | number>,
			from: number,
			to: number,
		) => database.prepare(insertRows(table, columns)).bind(from, to).run();
		if (length === 0) {
			for (const [table, columns] of ONCE) await insert(table, columns, 0, 1);
			for (const [table, columns, rows] of BOUNDED) await insert(table, columns, 0, rows);
		}
		for (const [table, columns, max = size] of MANY) {
			const end = Math.min(size, max);
			for (let from = length; from < end; from += ROWS_A_STATEMENT)
				await insert(table, columns, from, Math.min(from + ROWS_A_STATEMENT, end));
		}
		for (const count of COUNTS) await database.prepare(count).run();
		length = size;
		for (const reading of readings) {
			const owner = owners.get(LISTS[reading.operation]?.owner ?? "");
			const path = paths[reading.operation];
			if (!owner || !path)
				throw new Error(`The list ${reading.operation} has no path or no owner.`);
			const { read, matches, answered } = await readPage(worker.url, path, reading, owner);
			reading.read.push(read);
			reading.matches.push(matches);
			reading.answered = answered;
		}
	}
	return readings;
}

/**
 * Describes the growth of the rows read by a page: multiples of the shortest list, or rows per
 * additional match of a filter.
 */
function growthOf({ filter, read, matches }: Reading) {
	const [first = 0, ...others] = read;
	const found = (matches.at(-1) ?? 0) - (matches[0] ?? 0);
	if (filter === "" || found === 0)
		return others.map((each) => `×${(each / first).toFixed(2)}`).join(", ");
	return `${(((read.at(-1) ?? 0) - first) / found).toFixed(2)} per additional match`;
}

/**
 * Returns the lines of the table: the rows read in the shortest list, their growth, and the rows
 * returned.
 */
export const growthLines = (readings: Reading[], sizes: number[]): Line[] => [
	{
		title: `**Rows that page 1 reads in lists of ${sizes.map((size) => size.toLocaleString("en")).join("; ")} rows**`,
		cells: {},
		goal: "×1.05; 3 per additional match",
	},
	...readings.map((reading): Line => {
		const { operation, filter, read, answered } = reading;
		return {
			title: `\`${operation}${filter && `?${filter.replace(/=[0-9a-f-]{36}/, "=…")}`}\``,
			cells: { tenantry: `${read[0]}, ${growthOf(reading)}; ${answered} returned` },
		};
	}),
];
