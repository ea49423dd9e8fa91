import { existsSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { ROWS } from "../scale/assumptions.ts";
import { compareCosts } from "./cost.ts";
import { type Reading, watchGrowth } from "./growth.ts";
import { LISTS } from "./lists.ts";
import { send } from "./load.ts";
import { OPERATIONS } from "./operations.ts";
import * as betterAuth from "./peers/better-auth/peer.ts";
import * as django from "./peers/django/peer.ts";
import { compareRequests, count, type Measured } from "./requests.ts";
import { createState, startAll } from "./services.ts";
import { type Column, failed } from "./table.ts";
import { bundleWorker, newFolder, SERVICE, startWorker } from "./workers.ts";

const script = bundleWorker(SERVICE, "deployed");

describe("services that are compared", () => {
	let all: Measured[];
	const serviceOf = (name: Column) => {
		const service = all.find(({ column }) => column === name)?.service;
		if (!service) throw new Error(`${name} is not running.`);
		return service;
	};

	beforeAll(async () => {
		all = await startAll(script, await createState(script), { peers: "installed" });
	});

	afterAll(async () => {
		for (const { service } of all) await service.stop();
	});

	const peers: [Column, boolean][] = [
		["floor", true],
		["hono-drizzle", true],
		["better-auth", betterAuth.isInstalled()],
		["django", django.isInstalled()],
	];
	for (const [name, isInstalled] of peers)
		test.skipIf(!isInstalled)(
			`${name} answers with as many objects, and the same ones`,
			async () => {
				for (const operation of OPERATIONS) {
					if (!serviceOf(name).call(operation)) continue;
					const { answer } = await count(serviceOf(name), operation);
					const own = await count(serviceOf("tenantry"), operation);
					expect(answer.count).toBe(own.answer.count);
					if (operation === "invite") expect(answer.names[0]).toMatch(/^invited-\d+@example\.org$/);
					else expect(answer.names).toEqual(own.answer.names);
				}
			},
		);

	test.each(["floor", "hono-drizzle"] as const)("%s answers with the same fields", async (name) => {
		const page = z.object({ results: z.array(z.unknown()) });
		const results = async (column: Column, operation: "list" | "domain") =>
			page.parse(JSON.parse((await send(serviceOf(column), operation)).body)).results;
		for (const operation of ["list", "domain"] as const)
			expect(await results(name, operation)).toEqual(await results("tenantry", operation));
		const fields = async (column: Column) => {
			const { body } = await send(serviceOf(column), "invite");
			await serviceOf(column).reset();
			return Object.keys(JSON.parse(body)).sort();
		};
		expect(await fields(name)).toEqual(await fields("tenantry"));
	});

	test("the handwritten worker sends the same headers, and the same ETag for the same content", async () => {
		const varying = /^(?:content-length|etag|server-timing|x-d1-bookmark|x-request-id)$/;
		const responseOf = async (column: Column, operation: (typeof OPERATIONS)[number]) => {
			const { url, call, reset } = serviceOf(column);
			const request = call(operation);
			if (!request) throw new Error(`${column} has no operation ${operation}.`);
			const { path, body, ...init } = request;
			const response = await fetch(new URL(path, url), { ...init, ...(body && { body }) });
			await response.text();
			await reset();
			return response;
		};
		for (const operation of OPERATIONS) {
			const [floor, service] = [
				await responseOf("floor", operation),
				await responseOf("tenantry", operation),
			];
			expect([...floor.headers.keys()]).toEqual([...service.headers.keys()]);
			const same = ({ headers }: Response) => [...headers].filter(([name]) => !varying.test(name));
			expect(same(floor)).toEqual(same(service));
			if (operation === "domain")
				expect(floor.headers.get("etag")).toBe(service.headers.get("etag"));
		}
	});

	/** A line for each operation: trips, rows read, rows written, KV reads, bytes. */
	async function costs(column: Column) {
		const lines: string[] = [];
		for (const operation of OPERATIONS) {
			if (!serviceOf(column).call(operation)) continue;
			const { spent, bytes } = await count(serviceOf(column), operation);
			const { trips, read, written, kv } = spent ?? {};
			lines.push(
				`${operation}: ${trips} trips, ${read} read, ${written} written, ${kv} KV, ${bytes} bytes`,
			);
		}
		return lines;
	}

	test("what a request costs", async () => {
		expect({
			tenantry: await costs("tenantry"),
			floor: await costs("floor"),
			"hono-drizzle": await costs("hono-drizzle"),
		}).toEqual({
			tenantry: [
				"list: 1 trips, 109 read, 0 written, 0 KV, 21456 bytes",
				"domain: 1 trips, 12 read, 0 written, 0 KV, 487 bytes",
				"invite: 2 trips, 48 read, 7 written, 0 KV, 618 bytes",
			],
			floor: [
				"list: 1 trips, 109 read, 0 written, 0 KV, 21455 bytes",
				"domain: 1 trips, 12 read, 0 written, 0 KV, 486 bytes",
				"invite: 2 trips, 48 read, 7 written, 0 KV, 617 bytes",
			],
			"hono-drizzle": [
				"list: 4 trips, 1104 read, 0 written, 1 KV, 21344 bytes",
				"domain: 4 trips, 7 read, 0 written, 1 KV, 486 bytes",
				"invite: 7 trips, 12 read, 7 written, 1 KV, 646 bytes",
			],
		});
	});

	test.skipIf(!betterAuth.isInstalled())("what a request to better-auth costs", async () => {
		expect(await costs("better-auth")).toEqual([
			"list: 9 trips, 3109 read, 2 written, 0 KV, 15715 bytes",
			"invite: 11 trips, 12 read, 6 written, 0 KV, 290 bytes",
		]);
	});

	test("the cost of an operation follows from its rows and the list prices, and that of an invite from its size", async () => {
		const lines = await compareCosts(all, { invites: 200 });
		const dollarsOf = (title: string) =>
			Object.fromEntries(
				Object.entries(lines.find((line) => line.title.startsWith(title))?.cells ?? {}).map(
					([column, cell]) => [column, Number(cell.replace("$", ""))],
				),
			);
		const { spent } = await count(serviceOf("tenantry"), "invite");
		const { read = 0, written = 0, kv = 0 } = spent ?? {};
		expect(dollarsOf("Create an invite: D1 and KV").tenantry).toBeCloseTo(
			read * 0.001 + written + kv * 0.5,
			1,
		);
		const { tenantry: bytes = 0, "hono-drizzle": same } = dollarsOf("Create an invite: bytes");
		expect(bytes).toBeGreaterThan(300);
		expect(bytes).toBeLessThan(2_500);
		// The first values, and who created it from where: in no other service's log.
		expect(bytes - (same ?? 0)).toBeLessThan(350);
		expect(bytes).toBeGreaterThan(same ?? 0);
		expect(dollarsOf("Create an invite: storing").tenantry).toBeCloseTo((bytes / 1000) * 0.75, 1);
		expect(dollarsOf("Webhook delivery").tenantry).toBeGreaterThan(1);
	});

	test("scale.md says what a request costs in rows, within a tenth", async () => {
		const rows = async (operation: (typeof OPERATIONS)[number]) =>
			(await count(serviceOf("tenantry"), operation)).spent ?? { read: 0, written: 0 };
		const [list, domain, invite] = [await rows("list"), await rows("domain"), await rows("invite")];
		expect(ROWS.read.written).toBe(list.written + domain.written);
		for (const [measured, said] of [
			[(list.read + domain.read) / 2, ROWS.read.read],
			[invite.read, ROWS.write.read],
			[invite.written, ROWS.write.written],
		] as const) {
			const ratio = measured / said;
			expect({ measured, said, isRight: ratio > 0.9 && ratio < 1.1 }).toMatchObject({
				isRight: true,
			});
		}
	});

	test.skipIf(!existsSync("/proc/self/schedstat"))(
		"the CPU time of a single request is measured",
		async () => {
			const service = serviceOf("tenantry");
			for (let i = 0; i < 5; i += 1) {
				const before = service.cpu();
				await send(service, "domain");
				expect(service.cpu()).toBeGreaterThan(before);
			}
		},
	);

	test("a service that fails is left out, and the others are measured", async () => {
		const own = { column: "tenantry" as const, service: serviceOf("tenantry") };
		const floor = { column: "floor" as const, service: serviceOf("floor") };
		const call = () => ({ method: "GET", path: "/nowhere", headers: {} });
		const failing = { column: "django" as const, service: { ...own.service, call } };
		const before = failed();
		const lines = await compareRequests([failing, own, floor], "domain", {
			rounds: 2,
			warmUp: 8,
			slice: 8,
		});
		expect(lines.map(({ title, cells }) => [title, Object.keys(cells).sort()])).toEqual([
			["List the only domain: CPU time", ["floor", "tenantry"]],
			["List the only domain: CPU time ÷ handwritten", ["tenantry"]],
			["List the only domain: requests a second", ["floor", "tenantry"]],
			["List the only domain: round trips", ["floor", "tenantry"]],
			["List the only domain: rows read, rows written, KV reads", ["floor", "tenantry"]],
			["List the only domain: bytes of the response", ["floor", "tenantry"]],
		]);
		expect(failed()).toBeGreaterThan(before);
	});

	test("a request waits for the distance at each trip", async () => {
		for (const [name, trips] of [
			["tenantry", 1],
			["hono-drizzle", 4],
		] as const) {
			const began = performance.now();
			await send(serviceOf(name), "list", { delay: 200 });
			expect(performance.now() - began).toBeGreaterThan(200 * trips - 1);
		}
		// Where time counts, no statement runs a second time for its rows to be counted.
		const { spent } = await send(serviceOf("hono-drizzle"), "list", { delay: 1 });
		expect(spent).toMatchObject({ trips: 4, read: 0 });
	});
});

describe("the growth of lists", () => {
	const SIZES = [300, 3_000];

	/**
	 * The rows that a page of 100 reads beside those that match: the guard's rows, and up to six for
	 * each of its own, some of them twice, because their sizes are read first.
	 */
	const ROWS_OF_A_PAGE = 620;

	/** The same for a page of five rows. */
	const ROWS_OF_A_SHORT_PAGE = 80;

	/** The rows that are read for an export beside its log: its runs, and what isn't delivered. */
	const ROWS_OF_AN_EXPORT = 100;

	/** A page of the feed reads at most so many events. */
	const EVENTS_OF_A_PAGE = 1_000;

	/**
	 * The rows that a filter by time reads to find positions of the activity log by a binary search.
	 */
	const ROWS_OF_A_SEARCH = 700;

	let readings: Map<string, Reading>;

	beforeAll(async () => {
		const worker = await startWorker({ script, state: newFolder() });
		const all = await watchGrowth(worker, SIZES);
		await worker.stop();
		readings = new Map(
			all.map((reading) => [
				`${reading.operation}${reading.filter && `?${reading.filter}`}`,
				reading,
			]),
		);
	});

	/**
	 * Lists of objects of which an organization can have 1,000 (docs/api.md#limits), and of what a
	 * user has.
	 */
	const isBounded = (name: string) =>
		/^explainAccess$|^list(Plugin(s|Configs)|Role|OrganizationPluginConfigs|(Organization)?Projects|Organizations|Domains|(Unused)?(Destination|FrontendApp|ImportApp))/.test(
			name,
		);

	/**
	 * Lists of which a page reads all rows: members of a project, and the log of the export while a
	 * run was running.
	 */
	const isReadWhole = (name: string) =>
		/^list(ProjectMembers|(Project)?BatchExportRunLogs)/.test(name);

	const isFew = ({ operation, filter }: Reading) =>
		LISTS[operation]?.few?.includes(filter) ?? false;

	const isInside = ({ operation, filter }: Reading) =>
		LISTS[operation]?.inside?.includes(filter) ?? false;

	/** How many rows a page reads at most for each row that it has to look at. */
	function rowsForEach(name: string) {
		// Of an entry, each value is read from JSON, and its row is joined with the owner of the log.
		if (name.includes("Logs")) return 20;
		// Of a member, the access and the keys are read.
		if (/^(explainAccess|reviewMembers)|inactive_since|include_last_active/.test(name)) return 15;
		if (/^list(ProjectMembers|Credentials|(Project)?Activity|FeedEvents)/.test(name)) return 5;
		return name.includes("search=") ? 6 : 3;
	}

	test("the first page of a long list, or with a filter that few rows match, reads as many rows among 3,000 as among 300", () => {
		const grown = [...readings].filter(([name, reading]) => {
			if (isBounded(name) || isReadWhole(name)) return false;
			const [few = 0, many = 0] = reading.read;
			const isMeant = reading.filter === "" || isFew(reading);
			return few === 0 || (isMeant && many > 1.05 * few);
		});
		expect(grown).toEqual([]);
	});

	test("a filter of a long list reads three rows at most for each that matches or, without an index, for each of the list, in logs more", () => {
		const unbounded = [...readings].filter(([name, reading]) => {
			const { operation, filter, read, matches } = reading;
			if (isBounded(name) || (filter === "" && !isReadWhole(name))) return false;
			const page =
				(isFew(reading) ? ROWS_OF_A_SHORT_PAGE : ROWS_OF_A_PAGE) +
				(/Activity[?](after|before)=/.test(name) ? ROWS_OF_A_SEARCH : 0) +
				(operation === "listBatchExportLogs" ? ROWS_OF_AN_EXPORT : 0);
			// Filters of short lists have no index.
			const { limit = 0 } = LISTS[operation] ?? {};
			const looksAt = (i: number) => {
				if (name.startsWith("listFeedEvents")) return Math.min(SIZES[i] ?? 0, EVENTS_OF_A_PAGE);
				if (isInside(reading) || isReadWhole(name)) return SIZES[i] ?? 0;
				return Math.max(matches[i] ?? 0, limit);
			};
			return read.some((many, i) => many > rowsForEach(name) * looksAt(i) + page);
		});
		expect(unbounded).toEqual([]);
	});

	test("every list fills its first page or has as many rows as it can, or those that its filter is about", () => {
		for (const [name, reading] of readings) {
			const { answered, operation } = reading;
			// The first page of the feed doesn't get to its newest events.
			if (isInside(reading) && operation === "listFeedEvents")
				expect({ name, answered, isFew: answered <= 5 }).toMatchObject({ isFew: true });
			else if (isFew(reading) || isInside(reading))
				expect({ name, answered, isFew: answered > 0 && answered <= 5 }).toMatchObject({
					isFew: true,
				});
			else if (!/Repository|FrontendAppExportConfigs|explainAccess$/.test(name))
				expect({ name, answered }).toEqual({
					name,
					answered: Math.min(LISTS[operation]?.limit ?? 100, 100),
				});
		}
	});
});
