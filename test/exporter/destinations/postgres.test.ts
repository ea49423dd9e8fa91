import { env } from "cloudflare:workers";
import pg from "pg";
import { beforeAll, describe, expect, test } from "vitest";
import { Misconfigured } from "../../../src/exporter/destinations/destination.ts";
import { destinationOf } from "../../../src/exporter/destinations/index.ts";
import type { Column, Row } from "../../../src/exporter/rows.ts";
import { COLUMNS, job, rows, run } from "../../support/exporting.ts";
import { HANG_MS } from "../../support/hang.ts";
import { PASSWORD } from "../../support/postgres.ts";
import { eventually } from "../../support/time.ts";

const config = {
	user: "owner",
	password: PASSWORD,
	host: "127.0.0.1",
	port: Number(env.POSTGRES_PORT),
	database: "postgres",
};

const to = (more: object = {}, patience = HANG_MS) =>
	destinationOf(env, "Postgres", { ...config, ...more }, patience);

async function ask(sql: string, values: unknown[] = []) {
	const client = new pg.Client(config);
	client.on("error", () => {});
	try {
		await client.connect();
		const { rows } = await client.query(sql, values);
		return rows;
	} finally {
		await client.end();
	}
}

const fresh = () => `t"${crypto.randomUUID()}`;

const quoted = (name: string) => pg.escapeIdentifier(name);

describe.skipIf(env.POSTGRES_PORT === "")(
	"PostgreSQL, if it is installed,",
	() => {
		beforeAll(async () => {
			await ask(`create role reader login password '${PASSWORD}'`);
		});

		test.each([0, 1, 1000, 100_001])(
			"holds %i rows, whatever crashes",
			async (n) => {
				const table_name = fresh();
				const crashes = n < 100_001;
				await run(to({ table_name, schema: "exports" }), job(), n, { crashes });
				if (n === 0) return;
				const [found] = await ask(
					`select count(*)::int as n, sum(amount) as amount, sum(team_id)::float8 as ids, count(paid)::int as paid,
					count(day)::int as days, count(timestamp)::int as times, sum((properties->>'n')::float8) as properties,
					md5(string_agg(uuid || event, '' order by uuid)) as text
				from exports.${quoted(table_name)}`,
				);
				const all = rows(n);
				const sum = (of: (row: Row, i: number) => number) =>
					all.reduce((sum, row, i) => sum + of(row, i), 0);
				const text = all.map(([uuid, event]) => `${uuid}${event}`).join("");
				const md5 = await crypto.subtle.digest("MD5", Buffer.from(text));
				expect(found).toEqual({
					n,
					amount: n === 1 ? null : sum((row) => Number(row[3])),
					ids: sum((row) => Number(row[4])),
					paid: sum((row) => (row[5] === null ? 0 : 1)),
					days: sum((row) => (row[6] === null ? 0 : 1)),
					times: sum((row) => (row[7] === null ? 0 : 1)),
					properties:
						n === 1 ? null : sum((row, i) => (row[2] === null ? 0 : i)),
					text: Buffer.from(md5).toString("hex"),
				});
			},
		);

		test("makes columns by what they hold", async () => {
			const table_name = fresh();
			await run(to({ table_name }), job(), 1);
			const found = await ask(
				"select column_name, data_type from information_schema.columns where table_name = $1 order by ordinal_position",
				[table_name],
			);
			expect(
				found.map((one) => [one.column_name, one.data_type].join(" ")),
			).toEqual([
				"uuid text",
				"event text",
				"properties jsonb",
				"amount double precision",
				"team_id bigint",
				"paid boolean",
				"day date",
				"timestamp timestamp with time zone",
			]);
		});

		test("a row that comes again replaces what was there, in one page too", async () => {
			const table_name = fresh();
			const sink = await to({ table_name }).open(job(), null, async () => {});
			const [first = [], second = []] = rows(2);
			const changed = (event: string): Row => [
				first[0] ?? null,
				event,
				...first.slice(2),
			];
			await sink.write([first, second, changed("later")]);
			const event = async () =>
				ask(`select event from ${quoted(table_name)} order by uuid`);
			expect(await event()).toEqual([{ event: "later" }, { event: second[1] }]);
			await sink.write([changed("latest")]);
			expect(await event()).toEqual([
				{ event: "latest" },
				{ event: second[1] },
			]);
		});

		test("persons are told apart by project and distinct_id", async () => {
			const table_name = fresh();
			const columns = COLUMNS.filter(({ name }) => name !== "uuid").map(
				(one) => (one.name === "event" ? { ...one, name: "distinct_id" } : one),
			);
			const what = job({ model: "persons", columns });
			const sink = await to({ table_name }).open(what, null, async () => {});
			const [[, , ...rest] = []] = rows(1);
			await sink.write([
				["a", ...rest],
				["b", ...rest],
				["a", ...rest],
			]);
			expect(
				await ask(`select distinct_id from ${quoted(table_name)} order by 1`),
			).toEqual([{ distinct_id: "a" }, { distinct_id: "b" }]);
		});

		test("what can't be stored becomes a replacement character", async () => {
			const table_name = fresh();
			const columns: Column[] = [
				{ name: "uuid", kind: "text" },
				{ name: "properties", kind: "json" },
			];
			const sink = await to({ table_name }).open(
				job({ columns }),
				null,
				async () => {},
			);
			await sink.write([
				["a\0\0b", '{"\\u0000": "\\\\u0000 \\ud83d\\ude00 \\ud83d \\ude00"}'],
			]);
			expect(await ask(`select * from ${quoted(table_name)}`)).toEqual([
				{
					uuid: "a\ufffd\ufffdb",
					properties: { "\ufffd": "\\u0000 😀 \ufffd \ufffd" },
				},
			]);
		});

		test("a trial leaves nothing behind", async () => {
			const schema = fresh();
			expect(await to({ schema }).test()).toEqual(
				["reach", "sign in", "write", "remove"].map((name) => ({
					name,
					error: null,
				})),
			);
			expect(
				await ask("select to_regnamespace($1) as there", [quoted(schema)]),
			).toEqual([{ there: null }]);
		});

		test.each([
			["a wrong password", { password: "wrong-password" }, "sign in"],
			["no such user", { user: "somebody" }, "sign in"],
			["no such database", { database: "elsewhere" }, "sign in"],
			[
				"a schema that the user may not make",
				{ user: "reader", schema: "theirs" },
				"write",
			],
			["nobody there", { port: 1 }, "reach"],
			[
				"a certificate that nobody vouches for",
				{ port: Number(env.POSTGRES_TLS_PORT) },
				"reach",
			],
			[
				"a self-signed one, although it is announced",
				{ port: Number(env.POSTGRES_TLS_PORT), has_self_signed_cert: true },
				"reach",
			],
		])("a trial tells of %s", async (_, more, step) => {
			const steps = await to(more).test();
			const last = steps.at(-1);
			expect(last).toMatchObject({ name: step, error: expect.any(String) });
			expect(steps.slice(0, -1).every(({ error }) => error === null)).toBe(
				true,
			);
			const { user, password } = { ...config, ...more };
			expect(last?.error).not.toContain(`"${user}"`);
			expect(last?.error).not.toContain(password);
			const failed = run(to(more), job(), 1);
			await expect(failed).rejects.toThrow(last?.error ?? "");
			if ("port" in more && more.port === 1)
				await expect(failed).rejects.not.toBeInstanceOf(Misconfigured);
			else await expect(failed).rejects.toBeInstanceOf(Misconfigured);
		});

		test("a table that the user may not write to is told", async () => {
			const table_name = fresh();
			await run(to({ table_name }), job(), 1);
			await ask(`grant select on ${quoted(table_name)} to reader`);
			const steps = await to({ table_name, user: "reader" }).test();
			expect(steps.at(-1)).toEqual({
				name: "write",
				error: expect.stringContaining("allowed"),
			});
		});

		test("a table of another make is told", async () => {
			const table_name = fresh();
			await ask(`create table ${quoted(table_name)} (uuid text primary key)`);
			const failed = run(to({ table_name }), job(), 1);
			await expect(failed).rejects.toThrow('column "event"');
			await expect(failed).rejects.toBeInstanceOf(Misconfigured);
		});

		test("two runs that make the table at once both succeed", async () => {
			const table_name = fresh();
			await Promise.all(
				[1, 2, 3].map(() => run(to({ table_name }), job(), 500)),
			);
			expect(
				await ask(`select count(*)::int as n from ${quoted(table_name)}`),
			).toEqual([{ n: 500 }]);
		});

		test("a server that says nothing is given up", async () => {
			const { port } = new URL(env.DOH_SILENT);
			const failed = run(to({ port: Number(port) }, 300), job(), 1);
			await expect(failed).rejects.toThrow("did not answer within 0.3 seconds");
			await expect(failed).rejects.not.toBeInstanceOf(Misconfigured);
		});

		test("a statement that waits for too long may be tried again", async () => {
			const table_name = fresh();
			await run(to({ table_name }), job(), 1);
			const client = new pg.Client(config);
			client.on("error", () => {});
			await client.connect();
			await client.query(`begin; lock table ${quoted(table_name)}`);
			const failed = run(to({ table_name }, 500), job(), 1);
			await expect(failed).rejects.not.toBeInstanceOf(Misconfigured);
			await client.end();
		});

		test("no connection stays open", async () => {
			const mine = () =>
				ask(
					"select count(*)::int as n from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()",
				);
			await eventually(async () => expect(await mine()).toEqual([{ n: 0 }]));
		});
	},
);
