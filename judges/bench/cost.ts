/** Computes what operations cost at list prices, from what they read, write and store in D1. */

import { type Operation, PRICES, ROWS } from "../scale/assumptions.ts";
import { sendMany } from "./load.ts";
import { OPERATIONS, TITLES } from "./operations.ts";
import { count, type Measured } from "./requests.ts";
import { attempt, type Line } from "./table.ts";

/** The number of invites whose size is measured: fewer than an organization can have. */
const INVITES = 800;

type Options = { invites?: number };

/**
 * The operations without a caller. Tests compare their rows with the service (judges/scale/rows.full.test.ts).
 */
const BACKGROUND: [operation: Operation, title: string][] = [
	["run", "Run of an hourly export"],
	["job", "Plugin job"],
	["delivery", "Webhook delivery"],
	["use", "Update of a key's usage"],
	["event", "User event, ingested and exported"],
];

/** Returns the dollars for a million times these rows and KV reads. */
const dollars = ({ read, written, kv = 0 }: { read: number; written: number; kv?: number }) =>
	`$${(read * PRICES.rows_read + written * PRICES.rows_written + kv * PRICES.kv_reads).toFixed(2)}`;

/** Returns lines with the dollars per million requests of each operation, in each worker. */
async function requestCosts(all: Measured[]) {
	const lines: Line[] = [];
	for (const operation of OPERATIONS) {
		const cells: Line["cells"] = {};
		for (const { column, service } of all) {
			if (!service.call(operation)) continue;
			const { spent } = await count(service, operation);
			if (spent) cells[column] = dollars(spent);
		}
		lines.push({ title: `${TITLES[operation]}: D1 and KV, per million`, cells });
	}
	return lines;
}

/** Returns the bytes that an invite takes in the database, with all that is written with it. */
async function bytesOfInvite({ service }: Measured, invites: number) {
	const before = await service.size?.();
	if (before === undefined) return undefined;
	await sendMany(service, "invite", invites);
	const after = await service.size?.();
	await service.reset();
	return after === undefined ? undefined : Math.round((after - before) / invites);
}

/**
 * Returns a line with the size of an invite, and one with what storing a million of them costs in a
 * month.
 */
async function storageCosts(all: Measured[], invites: number) {
	const bytes: Line = { title: `${TITLES.invite}: bytes in D1`, cells: {} };
	const cost: Line = { title: `${TITLES.invite}: storing a million for a month`, cells: {} };
	for (const measured of all) {
		const size = await bytesOfInvite(measured, invites);
		if (size === undefined) continue;
		bytes.cells[measured.column] = String(size);
		// Bytes of one are megabytes of a million.
		cost.cells[measured.column] = `$${((size / 1000) * PRICES.d1_gigabytes).toFixed(2)}`;
	}
	return [bytes, cost];
}

/**
 * Returns the lines about money. The services must be new: the database doesn't grow where rows
 * were deleted before.
 */
export async function compareCosts(
	all: Measured[],
	{ invites = INVITES }: Options = {},
): Promise<Line[]> {
	const workers = all.filter(({ column, service }) => service.counts && column !== "again");
	const lines: Line[] = [];
	await attempt("the size of an invite", async () =>
		lines.push(...(await storageCosts(workers, invites))),
	);
	const background = BACKGROUND.map(
		([operation, title]): Line => ({
			title: `${title}: D1, per million`,
			cells: { tenantry: dollars(ROWS[operation]) },
		}),
	);
	return [...(await requestCosts(workers)), ...lines, ...background];
}
