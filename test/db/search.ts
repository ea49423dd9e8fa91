import { eq, or, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";
import fc from "fast-check";
import { v7 } from "uuid";
import { beforeAll, describe, expect, test } from "vitest";
import { contains } from "../../src/db/contains.ts";
import { domains, organizationId, projects } from "../../src/db/schema/organizations.ts";
import { invites } from "../../src/db/schema/people.ts";
import { plugins } from "../../src/db/schema/plugins.ts";
import { logOfConfig, logOfExport } from "../support/logs.ts";
import { text } from "../support/search_texts.ts";
import { db, furnished, times } from "../support/world.ts";

type Home = Awaited<ReturnType<typeof furnished>>;

type Searched = {
	path: (home: Home) => string;
	insert: (home: Home, text: string) => ReturnType<Parameters<typeof times>[1]>;
	/** Absent for logs, whose entries are not rows. */
	rows?: {
		table: SQLiteTable & { id: SQLiteColumn };
		texts: SQLiteColumn[];
		owned: (home: Home) => SQL;
	};
};

const ROWS = 50;

const org = ({ id }: Home) => `/api/organizations/${id}`;

/** Lists with a search, and what each has of an organization. */
const LISTS: Record<string, Searched> = {
	"an export's log": {
		path: (home) => `${org(home)}/batch_exports/${home.batch_export}/logs`,
		insert: ({ batch_export }, message) => logOfExport(batch_export, { message }),
	},
	"a run's log": {
		path: ({ batch_export, run, ...home }) =>
			`/api/organizations/${home.id}/batch_exports/${batch_export}/runs/${run}/logs`,
		insert: ({ batch_export, run }, message) =>
			logOfExport(batch_export, { run, level: "ERROR", message }),
	},
	"a config's log": {
		path: ({ project, config }) => `/api/projects/${project}/plugin_configs/${config}/logs`,
		insert: ({ config }, message) => logOfConfig(config, { message }),
	},
	plugins: {
		path: (home) => `${org(home)}/plugins`,
		rows: {
			table: plugins,
			texts: [plugins.name, plugins.description, plugins.url],
			owned: ({ id }) => eq(plugins.organization_id, organizationId(id)),
		},
		insert: ({ id }, name) =>
			db.insert(plugins).values({
				organization_id: organizationId(id),
				plugin_type: "source",
				name,
				description: Array.from(name).reverse().join(""),
				capabilities: {},
			}),
	},
	projects: {
		path: (home) => `${org(home)}/projects`,
		rows: {
			table: projects,
			texts: [projects.name],
			owned: ({ id }) => eq(projects.organization_id, organizationId(id)),
		},
		insert: ({ id }, name) =>
			db.insert(projects).values({ organization_id: organizationId(id), name }),
	},
	domains: {
		path: (home) => `${org(home)}/domains`,
		rows: {
			table: domains,
			texts: [domains.domain],
			owned: ({ id }) => eq(domains.organization_id, organizationId(id)),
		},
		insert: ({ id }, name) =>
			db.insert(domains).values({
				organization_id: organizationId(id),
				domain: `${name}${v7()}`,
				verification_challenge: "x",
			}),
	},
	invites: {
		path: (home) => `${org(home)}/invites`,
		rows: {
			table: invites,
			texts: [invites.target_email],
			owned: ({ id }) => eq(invites.organization_id, organizationId(id)),
		},
		insert: ({ id, owner }, name) =>
			db.insert(invites).values({
				organization_id: organizationId(id),
				target_email: `${name.replaceAll(/[^a-z]/gi, "")}-${v7()}@example.com`,
				created_by: owner.id,
				emailing_attempt_made: false,
				token_hash: v7(),
			}),
	},
};

/** Tests the search of each list with these terms. */
export const testSearches = (terms: string[]) =>
	describe.each(Object.entries(LISTS))("a search in %s", (_, { path, rows, insert }) => {
		let home: Home;

		beforeAll(async () => {
			home = await furnished();
			const stranger = await furnished();
			const names = fc.sample(text(12), { numRuns: ROWS, seed: 7 });
			// The same texts in another organization, which no search here may find.
			for (const owner of [home, stranger]) await times(ROWS, (i) => insert(owner, names[i] ?? ""));
		});

		async function search(needle: string) {
			const { body } = await home.ask(
				"GET",
				`${path(home)}?limit=1000&search=${encodeURIComponent(needle)}`,
			);
			const ids = body.results.map(({ id }: { id: unknown }) => id);
			expect(body.count).toBe(ids.length);
			return ids.toSorted();
		}

		/** The ids of what a scan of all finds. */
		async function scan(needle: string) {
			if (rows) {
				const { table, texts, owned } = rows;
				const found = await db
					.select({ id: table.id })
					.from(table)
					.where(sql`${owned(home)} and ${or(...texts.map((each) => contains(each, needle)))}`);
				return found.map(({ id }) => id).toSorted();
			}
			const { results } = (await home.ask("GET", `${path(home)}?limit=1000`)).body;
			const found = await db.all<{ id: string }>(sql`select value ->> 'id' as id
				from json_each(${JSON.stringify(results)}) where ${contains(sql`value ->> 'message'`, needle)}`);
			return found.map(({ id }) => id).toSorted();
		}

		test("finds what a scan of all rows finds, whatever the letters", async () => {
			let found = 0;
			for (const needle of terms) {
				const expected = await scan(needle);
				expect([needle, await search(needle)]).toEqual([needle, expected]);
				found += expected.length;
			}
			expect(found).toBeGreaterThan(terms.length / 3);
		});

		test("goes on by next, in the order of the list", async () => {
			const ids = async (query: string) => {
				const all: unknown[] = [];
				for (let next: string | null = `${path(home)}?${query}`; next; ) {
					const { pathname, search } = new URL(next, "http://localhost");
					const { body } = await home.ask("GET", pathname + search);
					all.push(...body.results.map(({ id }: { id: unknown }) => id));
					next = body.next;
				}
				return all;
			};
			const found = await ids("limit=3&search=a");
			expect(found.length).toBeGreaterThan(6);
			expect(found).toEqual((await ids("limit=1000")).filter((id) => found.includes(id)));
			expect(await ids("limit=1000&offset=2&search=a")).toEqual(found.slice(2));
		});

		test("is for 200 characters at most", async () => {
			const ask = (length: number) => home.ask("GET", `${path(home)}?search=${"x".repeat(length)}`);
			expect((await ask(200)).status).toBe(200);
			expect((await ask(201)).body).toMatchObject({ code: "max_length", attr: "search" });
		});
	});
