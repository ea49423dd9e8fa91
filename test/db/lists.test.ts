import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { beforeAll, describe, expect, test } from "vitest";
import { projectMembers } from "../../src/db/schema/people.ts";
import { personalApiKeys } from "../../src/db/schema/personal_api_keys.ts";
import { cache, digest } from "../../src/keys/keys.ts";
import { RETOTAL } from "../support/activity.ts";
import { wrongCounters } from "../support/counters.ts";
import {
	call,
	cost,
	db,
	furnished,
	join,
	keyFor,
	person,
	rowIdOf,
	world,
} from "../support/world.ts";

/** How many rows each list has: in a small tenant and in one that is five times as large. */
const SIZES = [30, 150] as const;

/** How many rows each filter finds, in both. */
const MATCHES = 5;

const AT = "2026-01-01T00:00:00.000Z";

/** SQL for a time, the later the larger `i` is. */
const time = (i = "i") => `strftime('%Y-%m-%dT%H:%M:%fZ', 1767225600 + ${i} * 60, 'unixepoch')`;

/** SQL for the same time as an integer. */
const milliseconds = "(1767225600 + i * 60) * 1000";

/** SQL for a UUID that belongs to this tenant and number. */
const uuid = (prefix: string, i = "i") =>
	`lower(substr(hex(randomblob(4)), 1, 8) || '-0000-7000-8000-') || printf('%s%06d', lower(hex(randomblob(3))), ${i}) || substr('${prefix}', 1, 0)`;

/** Inserts `n` rows, numbered by `i`, without the API. */
const insert = (n: number, table: string, values: Record<string, string>) =>
	env.DB.prepare(
		`with recursive numbers (i) as (select 1 union all select i + 1 from numbers where i < ${n})
		insert into ${table} (${Object.keys(values)
			.map((name) => `"${name}"`)
			.join(", ")}) select ${Object.values(values).join(", ")} from numbers`,
	);

/** One value for the last `MATCHES` rows that a filter looks for, another for the others. */
const rare = (n: number, one: string, other: string) => `iif(i > ${n - MATCHES}, ${one}, ${other})`;

type Home = Awaited<ReturnType<typeof tenant>>;

/** A tenant with `n` rows in each list. */
async function tenant(n: number) {
	const home = await furnished();
	const wanderer = await person();
	const { id, project, batch_export, run, config, owner } = home;
	const q = (text: string) => `'${text}'`;
	const own = String(home.organization_id);
	const exportRow = `${await rowIdOf(batch_export)}`;
	const people = `people-${n}`;
	/** The moment of `time` in milliseconds since 1970. */
	const at = `(${Date.parse(AT)} + i * 60000)`;
	const dates = { created_at: time(), updated_at: time() };
	const userId = `(select id from users where email = '${people}-' || i || '@tenantry.test')`;
	/**
	 * SQL for the id of a plugin that is the earlier the larger `i` is: the first `MATCHES` of them
	 * are of a rare family.
	 */
	const plugin = (i = "i") =>
		`(select max(id) - ${i} + 1 from plugins where organization_id = ${own})`;
	const destination = { type: "NoOp", config: {} };
	await env.DB.batch([
		insert(n, "users", {
			uuid: uuid(id),
			distinct_id: uuid(id),
			first_name: rare(n, "'Özlem Rare'", "'Anna Common'"),
			email: `'${people}-' || i || '@tenantry.test'`,
			created_at: q(AT),
		}),
		insert(n, "members", {
			id: uuid(id),
			organization_id: own,
			user_id: userId,
			level: "1",
			joined_at: time(),
			updated_at: rare(n, "'2027-01-01T00:00:00.000Z'", q(AT)),
		}),
		insert(n, "invites", {
			id: uuid(id),
			organization_id: own,
			target_email: `${rare(n, "'rare-'", "''")} || '${people}-invited-' || i || '@tenantry.test'`,
			created_by: `${owner.id}`,
			emailing_attempt_made: "0",
			token_hash: uuid(id),
			...dates,
		}),
		insert(n, "domains", {
			id: uuid(id),
			organization_id: own,
			domain: `${rare(n, "'rare-'", "'common-'")} || '${people}-' || i || '.example.com'`,
			verification_challenge: "'x'",
		}),
		insert(n, "oauth_clients", {
			id: uuid(id),
			organization_id: own,
			name: "'App ' || i",
			created_at: q(AT),
		}),
		insert(n, "projects", {
			uuid: uuid(id),
			organization_id: own,
			name: `${rare(n, "'Rare '", "'Project '")} || i`,
			// The newest are private: a member's page must not read them all.
			access_control: "i > 20",
			created_at: q(AT),
		}),
		insert(n, "project_members", {
			id: uuid(id),
			project_id: `${project}`,
			organization_id: own,
			user_id: userId,
			level: "1",
			joined_at: time(),
			updated_at: time(),
		}),
		insert(n, "organizations", {
			uuid: uuid(id),
			name: "'Other ' || i",
			slug: `'${people}-' || i`,
			plugins_access_level: "9",
			...dates,
		}),
		env.DB.prepare(
			`insert into members (id, organization_id, user_id, level, joined_at, updated_at)
			select uuid, id, ${wanderer.id}, 15, created_at, created_at from organizations where slug like '${people}-%'`,
		),
		insert(n, "personal_api_keys", {
			id: uuid(id),
			user_id: `${owner.id}`,
			label: "'Key ' || i",
			hash: uuid(id),
			mask_value: "'x'",
			created_at: q(AT),
		}),
		insert(n, "personal_api_keys", {
			id: uuid(id),
			user_id: `${owner.id}`,
			label: "'Console'",
			hash: uuid(id),
			mask_value: "'x'",
			expires_at: "'2999-01-01T00:00:00.000Z'",
			created_at: q(AT),
			session: `'{"method":"mail"}'`,
		}),
		insert(n, "personal_api_keys", {
			id: uuid(id),
			user_id: `${owner.id}`,
			label: "'Notes'",
			hash: uuid(id),
			mask_value: "''",
			client_id: "'https://notes.example/app'",
			audience: "'api'",
			created_at: q(AT),
		}),
		env.DB.prepare(
			`insert or ignore into oauth_refresh_tokens (key_id, family, hash, expires_at)
			select id, '', '', '2999-01-01T00:00:00.000Z' from personal_api_keys where user_id = ? and client_id is not null`,
		).bind(owner.id),
		insert(n, "passkeys", {
			credential_id: uuid(id),
			id: uuid(id),
			user_id: `${owner.id}`,
			name: "'Passkey ' || i",
			public_key: "'x'",
			sign_count: "0",
			is_backed_up: "0",
			created_at: q(AT),
		}),
		insert(n, "batch_exports", {
			uuid: uuid(id),
			organization_id: own,
			project_id: `${project}`,
			name: "'Export ' || i",
			destination: q(JSON.stringify(destination)),
			interval: "'hour'",
			created_at: q(AT),
			last_updated_at: q(AT),
			next_start_at: "'2026-01-01T00:00:00.000Z'",
			next_end_at: "'9999-01-01T00:00:00.000Z'",
			due_at: "'9999-01-01T00:00:00.000Z'",
		}),
		insert(n, "batch_export_runs", {
			id: uuid(id),
			batch_export_id: exportRow,
			status: rare(n, "'FailedRetryable'", "'Completed'"),
			data_interval_start: milliseconds,
			data_interval_end: milliseconds,
			lease: "1",
			finished_at: "1",
			created_at: "1",
			last_updated_at: "1",
		}),
		// What the export has already must match none of the filters.
		env.DB.prepare(
			`update batch_export_backfills set status = 'Completed', end_at = ? where batch_export_id = ${exportRow}`,
		).bind(AT),
		insert(n, "batch_export_backfills", {
			id: uuid(id),
			batch_export_id: exportRow,
			project_id: `${project}`,
			interval: "'hour'",
			status: rare(n, "'Cancelled'", "'Completed'"),
			start_at: q(AT),
			next_start_at: q(AT),
			end_at: time(),
			total_runs: "1",
			created_at: q(AT),
			last_updated_at: q(AT),
		}),
		env.DB.prepare(
			`update batch_exports set runs = runs + ${n}, backfills = backfills + ${n} where id = ${exportRow}`,
		),
		insert(n, "batch_export_days", {
			batch_export_id: exportRow,
			day: "date('2020-01-01', i || ' days')",
		}),
		insert(n, "batch_export_ranges", {
			batch_export_id: exportRow,
			by: "'arrival'",
			start_at: "i * 7200000",
			end_at: "i * 7200000 + 3600000",
			runs: "1",
			rows: "1",
			bytes: "1",
		}),
		env.DB.prepare(`delete from batch_export_logs where batch_export_id = ${exportRow}`),
		insert(n, "batch_export_logs", {
			batch_export_id: exportRow,
			position: at,
			total: "i",
			run_id: q(run),
			id: uuid(id),
			entries: `json_array(json_array(${at}, ${rare(n, "'ERROR'", "'INFO'")}, 'Message ' || i))`,
		}),
		env.DB.prepare("update batch_export_runs set created_at = ? where id = ?").bind(
			Date.parse(AT),
			run,
		),
		// Plugins of a rare family, and many others of another. Half have configs, and some of both
		// families have none.
		insert(MATCHES, "plugins", {
			organization_id: own,
			plugin_type: "'source'",
			capabilities: `'{"scheduled_tasks":["runEveryHour"]}'`,
			...dates,
		}),
		insert(n, "plugins", {
			organization_id: own,
			plugin_type: "'source'",
			name: "'Plugin ' || i",
			capabilities: rare(
				n,
				`'{"methods":["onEvent"],"scheduled_tasks":["runEveryHour"]}'`,
				`'{"methods":["onEvent"]}'`,
			),
			...dates,
		}),
		insert(n, "plugin_configs", {
			uuid: uuid(id),
			project_id: `${project}`,
			organization_id: own,
			plugin_id: plugin(`min(i, ${n / 2})`),
			enabled: "1",
			order: "i",
			...dates,
		}),
		env.DB.prepare("delete from plugin_logs where plugin_config_id = ?").bind(config),
		insert(n, "plugin_logs", {
			plugin_config_id: `${config}`,
			position: at,
			total: "i",
			id: uuid(id),
			entries: `json_array(json_array(${at}, ${rare(n, "'ERROR'", "'LOG'")}, 'Message ' || i, 'CONSOLE'))`,
		}),
	]);
	const [someone] = (
		await env.DB.prepare("select uuid from users where email = ?")
			.bind(`${people}-1@tenantry.test`)
			.all<{ uuid: string }>()
	).results;
	const member = await join(id, 1);
	await db.insert(projectMembers).values({
		project_id: project,
		organization_id: home.organization_id,
		user_id: member.id,
		level: 1,
	});
	const [other] = (
		await env.DB.prepare("select uuid from organizations where slug = ?")
			.bind(`${people}-7`)
			.all<{ uuid: string }>()
	).results;
	return {
		...home,
		people,
		someone: someone?.uuid,
		after: `2026-01-01T00:${n - MATCHES}:30Z`,
		last: new Date(Date.parse(AT) + (n - MATCHES) * 60_000 + 30_000).toISOString(),
		/** The moment before the last entries of the activity log. */
		lastLogged: "",
		keys: {
			owner: home.key,
			member: member.key,
			wanderer: wanderer.key,
			"that reaches one": await keyFor(wanderer.id, { scoped_organizations: [other?.uuid ?? ""] }),
			"that reaches a project": await keyFor(owner.id, { scoped_projects: [project] }),
		},
	};
}

/** Adds `n` entries to the activity log, one in each minute after those that were added before. */
async function addEntries({ organization_id, project, owner, people }: Home, n: number) {
	const plugin = `(select cast(max(id) - i + 1 as text) from plugins where organization_id = ${organization_id})`;
	const ofProject = { organization_id: `${organization_id}`, project_id: `${project}` };
	const [newest] = (
		await env.DB.prepare("select max(created_at) as at from activity_log").all<{ at: number }>()
	).results;
	const start = newest?.at ?? 0;
	await env.DB.batch([
		insert(MATCHES, "activity_log", {
			...ofProject,
			user_id: `${owner.id}`,
			activity: "'updated'",
			scope: "'Domain'",
			item_id: "'rare'",
			created_at: `${start}`,
		}),
		insert(n, "activity_log", {
			...ofProject,
			user_id: rare(
				n,
				`(select id from users where email = '${people}-1@tenantry.test')`,
				`${owner.id}`,
			),
			activity: rare(n, "'upgraded'", "'updated'"),
			scope: "'Plugin'",
			item_id: plugin,
			created_at: `${start} + i * 60000`,
		}),
		env.DB.prepare(RETOTAL),
	]);
	return new Date(start + (n - MATCHES) * 60_000 + 30_000).toISOString();
}

const org = ({ id }: Home) => `/api/organizations/${id}`;
const inProject = ({ project }: Home) => `/api/projects/${project}`;
const exported = (home: Home) => `${org(home)}/batch_exports/${home.batch_export}`;
const plugins = (home: Home) => `${org(home)}/pipeline_destinations`;
/** The activity of import apps, which few plugins are. */
const imports = (home: Home) => `${org(home)}/pipeline_import_apps/activity`;
const log = (home: Home) => `${inProject(home)}/plugin_configs/${home.config}/logs`;
/** A family that few plugins are of. */
const importApps = (home: Home) => `${org(home)}/pipeline_import_apps`;

/** Every list, with what its count is in a tenant of `n` rows where it is simple to say. */
const LISTS: Record<string, (home: Home) => string> = {
	members: (home) => `${org(home)}/members`,
	invites: (home) => `${org(home)}/invites`,
	domains: (home) => `${org(home)}/domains`,
	"registered apps": (home) => `${org(home)}/oauth_clients`,
	projects: () => "/api/projects",
	"an organization's projects": (home) => `${org(home)}/projects`,
	organizations: () => "/api/organizations",
	"project members": (home) => `${inProject(home)}/members`,
	"batch exports of an organization": (home) => `${org(home)}/batch_exports`,
	"batch exports of a project": (home) => `${inProject(home)}/batch_exports`,
	runs: (home) => `${exported(home)}/runs`,
	backfills: (home) => `${exported(home)}/backfills`,
	metrics: (home) => `${exported(home)}/metrics`,
	"ranges of old runs": (home) => `${exported(home)}/ranges`,
	"logs of an export": (home) => `${exported(home)}/logs`,
	"logs of a run": (home) => `${exported(home)}/runs/${home.run}/logs`,
	plugins: (home) => `${org(home)}/plugins`,
	destinations: plugins,
	"frontend apps": (home) => `${org(home)}/pipeline_frontend_apps`,
	"import apps": importApps,
	"plugins of two families": (home) =>
		`${org(home)}/plugins?family=pipeline_import_apps&family=pipeline_frontend_apps`,
	"plugins of all families": (home) =>
		`${org(home)}/plugins?family=pipeline_destinations&family=pipeline_frontend_apps&family=pipeline_import_apps`,
	"activity of plugins": (home) => `${plugins(home)}/activity`,
	"enabled configs": (home) => `${plugins(home)}/exports_unsubscribe_configs`,
	"the repository": (home) => `${plugins(home)}/repository`,
	"unused plugins": (home) => `${plugins(home)}/unused`,
	"unused import apps": (home) => `${importApps(home)}/unused`,
	"enabled configs of import apps": (home) => `${importApps(home)}/exports_unsubscribe_configs`,
	"plugin configs": (home) => `${inProject(home)}/plugin_configs`,
	"logs of a config": log,
	keys: () => "/api/personal_api_keys",
	sessions: () => "/api/users/@me/sessions",
	apps: () => "/api/users/@me/oauth_grants",
	"apps of an organization": (home) => `${org(home)}/oauth_grants`,
	credentials: (home) => `${org(home)}/credentials`,
	passkeys: () => "/api/users/@me/passkeys",
	"activity of an organization": (home) => `${org(home)}/activity_log`,
	"activity of a project": (home) => `${inProject(home)}/activity_log`,
};

/** Lists that a limit keeps short, so that they are counted and sorted when they are read. */
const BOUNDED = new Set([
	// Reads what the export has written during the run, at most 5,000 rows.
	"logs of a run",
	"domains",
	"registered apps",
	"projects",
	"an organization's projects",
	"organizations",
	"project members",
	"ranges of old runs",
	"batch exports of an organization",
	"batch exports of a project",
	"metrics",
	"ranges of old runs",
	"keys",
	"sessions",
	"apps",
	// Reads the keys of all members, of whom few have many.
	"apps of an organization",
	// The first page counts them. The others are in test/people/credentials/.
	"credentials",
	"passkeys",
	"plugins",
	"destinations",
	"frontend apps",
	"import apps",
	"plugins of two families",
	"plugins of all families",
	"activity of plugins",
	"enabled configs",
	"unused plugins",
	"unused import apps",
	"enabled configs of import apps",
	"plugin configs",
]);

const activities =
	(at: (home: Home) => string) => (query: (home: Home) => string) => (home: Home) =>
		`${at(home)}/activity_log?${query(home)}`;
const ofOrganization = activities(org);
const ofProject = activities(inProject);

/** The moment some minutes later. */
const later = (moment: string, minutes: number) =>
	new Date(Date.parse(moment) + minutes * 60_000).toISOString();

/** Filters of the activity log that no index serves, and that find `MATCHES` rows. */
const WALKS: Record<string, (home: Home) => string> = {
	"entries by scope": ofOrganization(() => "scope=Domain"),
	"entries by activity": ofOrganization(() => "activity=upgraded"),
	"entries by scope and activity": ofOrganization(() => "scope=Plugin&activity=upgraded"),
	"entries by user": ofOrganization(({ someone }) => `user=${someone}`),
	"entries by user, scope and activity": ofOrganization(
		({ someone }) => `user=${someone}&scope=Plugin&activity=upgraded`,
	),
	"entries of a project by scope": ofProject(() => "scope=Domain"),
	"entries of a project by user": ofProject(({ someone }) => `user=${someone}`),
	"entries of a project by activity": ofProject(() => "activity=upgraded"),
};

/** Filters by time that find `MATCHES` entries. */
const TIMES: Record<string, (home: Home) => string> = {
	"entries by time": ofOrganization(
		({ lastLogged }) => `after=${lastLogged}&before=2026-12-31T00:00:00Z`,
	),
	"entries by scope and time": ofOrganization(
		({ lastLogged }) => `scope=Plugin&after=${lastLogged}&before=2026-12-31T00:00:00Z`,
	),
	"entries of a project by time": ofProject(
		({ lastLogged }) => `after=${lastLogged}&before=2026-12-31T00:00:00Z`,
	),
};

/** Filters that find `MATCHES` rows, however many there are. */
const FILTERS: Record<string, (home: Home) => string> = {
	...TIMES,
	"entries by item": ofOrganization(() => "item_id=rare"),
	"entries by scope and item": ofOrganization(() => "scope=Domain&item_id=rare"),
	"entries of a project by item": ofProject(() => "item_id=rare"),
	"runs by status": (home) => `${exported(home)}/runs?status=FailedRetryable`,
	"runs by two statuses": (home) =>
		`${exported(home)}/runs?status=FailedRetryable&status=Cancelled`,
	"runs by their windows": (home) =>
		`${exported(home)}/runs?after=${home.last}&before=${later(home.last, MATCHES)}`,
	"runs by their windows and status": (home) =>
		`${exported(home)}/runs?after=${home.last}&before=2026-12-31T00:00:00Z&status=FailedRetryable`,
	"runs whose windows overlap a range, by status": (home) =>
		`${exported(home)}/runs?after=${home.last}&starts_before=${later(home.last, MATCHES)}&status=FailedRetryable`,
	"backfills by their ranges": (home) =>
		`${exported(home)}/backfills?after=${home.last}&before=${later(home.last, MATCHES)}`,
	"backfills by their ranges and status": (home) =>
		`${exported(home)}/backfills?after=${home.last}&status=Cancelled&status=Running`,
	"runs by their windows and an unsuccessful status": (home) =>
		`${exported(home)}/runs?after=2000-01-01&starts_before=2100-01-01&status=FailedRetryable`,
	"runs by their windows and two unsuccessful statuses": (home) =>
		`${exported(home)}/runs?before=2100-01-01&status=FailedRetryable&status=Cancelled`,
};

/**
 * Filters of logs that find `MATCHES` entries: by time, which only read those in that time, and
 * others.
 */
const LOG_FILTERS: Record<string, (home: Home) => string> = {
	"an export's entries by time": (home) => `${exported(home)}/logs?after=${home.last}`,
	"an export's entries by level and time": (home) =>
		`${exported(home)}/logs?after=${home.last}&level=ERROR&level=INFO`,
	"a run's entries by time": (home) => `${exported(home)}/runs/${home.run}/logs?after=${home.last}`,
	"a config's entries by time": (home) => `${log(home)}?after=${home.last}`,
};

/** Searches and filters that no index serves, and that find `MATCHES` rows. */
const SEARCHES: Record<string, (home: Home) => string> = {
	"backfills by status": (home) => `${exported(home)}/backfills?status=Cancelled`,
	"backfills by two statuses": (home) =>
		`${exported(home)}/backfills?status=Cancelled&status=Running`,
	"backfills by a status among many in their range": (home) =>
		`${exported(home)}/backfills?after=2000-01-01&status=Cancelled&status=Running`,
	"an export's entries by level": (home) => `${exported(home)}/logs?level=ERROR`,
	"an export's entries by two levels": (home) => `${exported(home)}/logs?level=ERROR&level=DEBUG`,
	"a config's entries by type": (home) => `${log(home)}?type_filter=ERROR`,
	"a config's entries by two types": (home) => `${log(home)}?type_filter=ERROR&type_filter=WARN`,
	"entries of plugins by user": (home) => `${plugins(home)}/activity?user=${home.someone}`,
	"entries of plugins by activity": (home) => `${plugins(home)}/activity?activity=upgraded`,
	"entries of plugins by user and activity": (home) =>
		`${plugins(home)}/activity?user=${home.someone}&activity=upgraded`,
	"entries of plugins by time": (home) =>
		`${plugins(home)}/activity?after=${home.lastLogged}&before=2026-12-31T00:00:00Z`,
	"entries of few of the plugins": (home) => imports(home),
	"entries of few of the plugins by user": (home) => `${imports(home)}?user=${home.owner.uuid}`,
	"entries of few of the plugins by activity": (home) => `${imports(home)}?activity=updated`,
	"entries of few of the plugins by time": (home) => `${imports(home)}?before=${home.lastLogged}`,
	"members by when they were changed": (home) =>
		`${org(home)}/members?updated_after=2026-12-31T00:00:00Z`,
	"members by a part of the name": (home) => `${org(home)}/members?search=özlem`,
	"members by one letter": (home) => `${org(home)}/members?search=Ö`,
	"members by a part of the name and when they were changed": (home) =>
		`${org(home)}/members?updated_after=2026-12-31T00:00:00Z&search=rare&order=joined_at`,
	"domains by a part of the name": (home) => `${org(home)}/domains?search=RARE-`,
	"invites by a part of the address": (home) => `${org(home)}/invites?search=rare-`,
	"projects by a part of the name": () => "/api/projects?search=rare",
	"projects of an organization by a part of the name": (home) =>
		`${org(home)}/projects?search=rare`,
};

/** A key whose record in KV has other restrictions than D1. */
async function staleKey(user_id: number, inD1: Restrictions, inKV: Restrictions) {
	const value = await keyFor(user_id, {
		scoped_organizations: inD1.organizations,
		scoped_projects: inD1.projects,
	});
	const hash = await digest(value);
	const [row] = await db.select().from(personalApiKeys).where(eq(personalApiKeys.hash, hash));
	const { id = "", expires_at = null, scopes = [] } = row ?? {};
	await cache(env, hash, { id, user_id, scopes, expires_at, allowed_ips: [], ...inKV });
	return value;
}

type Restrictions = { organizations: string[]; projects: number[] };

describe("a list of a key whose restrictions KV has not heard of yet", () => {
	test.each(["organizations", "projects"] as const)("%s", async (list) => {
		const home = await world();
		const { body: other } = await home.ask("POST", "/api/organizations", { body: { name: "B" } });
		const all = { organizations: [], projects: [] };
		const some = { organizations: [home.id], projects: [] };
		const one = { organizations: [], projects: [home.project] };
		const counts = async (inD1: Restrictions, inKV: Restrictions) => {
			const key = await staleKey(home.owner.id, inD1, inKV);
			const { body } = await call("GET", `/api/${list}`, { key });
			expect(body.results).toHaveLength(body.count);
			return body.count;
		};
		expect(other.id).toBeDefined();
		expect(await counts(all, some)).toBe(2);
		expect(await counts(some, all)).toBe(1);
		if (list === "projects") {
			expect(await counts(all, one)).toBe(2);
			expect(await counts(one, all)).toBe(1);
			expect(await counts(one, some)).toBe(1);
			expect(await counts(some, one)).toBe(1);
		}
	});
});

describe("a list five times as long costs the same", () => {
	let homes: [Home, Home];

	beforeAll(async () => {
		homes = [await tenant(SIZES[0]), await tenant(SIZES[1])];
		// Entries are in the order of time: those that the API has added are older.
		await env.DB.prepare("update activity_log set created_at = position").run();
		for (const [i, home] of homes.entries())
			home.lastLogged = await addEntries(home, SIZES[i] ?? 0);
	});

	const both = async (
		path: (home: Home) => string,
		key: keyof Home["keys"] = "owner",
		query = "limit=10",
	) => {
		const [small, large] = await Promise.all(
			homes.map((home) => {
				const at = path(home);
				return call("GET", `${at}${at.includes("?") ? "&" : "?"}${query}`, { key: home.keys[key] });
			}),
		);
		if (!small || !large) throw new Error("No answer.");
		expect([small.status, large.status]).toEqual([200, 200]);
		return { small, large };
	};

	test("each counter says what count(*) would", async () => {
		expect(await wrongCounters()).toEqual([]);
	});

	/**
	 * Returns the rows that each page reads, from the first to the last by `next`. Each result is on one
	 * page.
	 */
	async function walk(path: string, key: string) {
		const reads: number[] = [];
		const seen: string[] = [];
		let count = 0;
		for (let next: string | null = `${path}${path.includes("?") ? "&" : "?"}limit=50`; next; ) {
			const { pathname, search } = new URL(next, "http://localhost");
			const response = await call("GET", pathname + search, { key });
			reads.push(cost(response).read);
			for (const each of response.body.results) seen.push(each.id ?? JSON.stringify(each));
			({ next, count } = response.body);
		}
		expect(seen).toHaveLength(count);
		expect(new Set(seen).size).toBe(count);
		return reads;
	}

	/** Checks that the list costs the same in both tenants, and has as many results as it says. */
	async function isFlat(name: string, path: (home: Home) => string, key: keyof Home["keys"]) {
		const { small, large } = await both(path, key);
		const [before, after] = [cost(small).read, cost(large).read];
		// A member's entries are those of the projects that they see, which are read for the page, its
		// end and the count.
		if (key === "member" && name === "activity of an organization")
			expect(after).toBeLessThanOrEqual(before + 3 * (SIZES[1] - SIZES[0]));
		// A seek may read the row after the last.
		else if (!BOUNDED.has(name))
			expect(after).toBeLessThanOrEqual(Math.max(1.05 * before, before + 2));
		const all = await both(path, key, "limit=1000");
		for (const { body } of [all.small, all.large]) expect(body.count).toBe(body.results.length);
	}

	/**
	 * An organization comes with its projects. The configs that a member sees are counted one by one.
	 * Only admins see the apps and credentials of an organization.
	 */
	const NOT_FOR_MEMBERS =
		/^(organizations|keys|apps of an organization|credentials|registered apps|enabled configs.*)$/;

	test.each(Object.entries(LISTS))(
		"%s, also for a member who sees less, and the last pages read no more than the first",
		async (name, path) => {
			const key = name === "organizations" ? "wanderer" : "owner";
			await isFlat(name, path, key);
			if (!NOT_FOR_MEMBERS.test(name)) await isFlat(name, path, "member");
			const [first = 0, ...others] = await walk(path(homes[1]), homes[1].keys[key]);
			// An export comes with up to ten of its runs, and only one has any here.
			for (const read of others) expect(read).toBeLessThanOrEqual(1.05 * first + 10);
		},
	);

	test.each([
		["organizations", "that reaches one"],
		["projects", "that reaches one"],
		["projects", "that reaches a project"],
	] as const)("%s, with a key %s", async (name, key) => {
		await isFlat(name, LISTS[name] ?? (() => ""), key);
	});

	test.each(Object.entries(FILTERS))(
		"%s: a few rows for each that is found",
		async (name, path) => {
			const { small, large } = await both(path, "owner", "limit=100");
			expect([small.body.count, large.body.count]).toEqual([MATCHES, MATCHES]);
			expect(large.body.results).toHaveLength(MATCHES);
			// Each of the two statements searches both times in the organization's log, with three rows a step.
			const steps = name in TIMES ? Math.ceil(Math.log2(SIZES[1] / SIZES[0])) : 0;
			expect(cost(large).read).toBeLessThanOrEqual(cost(small).read + 2 + 4 * 3 * steps);
			// Those of the guard, and of the export or config that the path names. Each statement finds the
			// organization by its UUID.
			const others = 40;
			const search = name in TIMES ? 4 * 40 : 0;
			expect(cost(large).read).toBeLessThanOrEqual(6 * MATCHES + others + search);
		},
	);

	test.each(Object.entries(WALKS))(
		"%s: reads the log twice, to find and to count",
		async (_, path) => {
			const { small, large } = await both(path, "owner", "limit=100");
			expect([small.body.count, large.body.count]).toEqual([MATCHES, MATCHES]);
			expect(large.body.results).toHaveLength(MATCHES);
			expect(cost(large).read).toBeLessThanOrEqual(2 * (SIZES[1] + MATCHES) + 60);
		},
	);

	test.each(Object.entries(LOG_FILTERS))("%s", async (_, path) => {
		const { small, large } = await both(path, "owner", "limit=100");
		expect([small.body.count, large.body.count]).toEqual([MATCHES, MATCHES]);
		expect(cost(large).read).toBeLessThanOrEqual(cost(small).read + 2);
	});

	test.each(Object.entries(SEARCHES))(
		"%s: a search reads the organization's rows twice, to find and to count",
		async (_, path) => {
			const { small, large } = await both(path, "owner", "limit=100");
			expect([small.body.count, large.body.count]).toEqual([MATCHES, MATCHES]);
			expect(large.body.results).toHaveLength(MATCHES);
			// The names of members are in the rows of their users, and a project is seen through a
			// membership. Finding a member's user also reads the member, and an entry is joined with its
			// plugin. Rows of logs are unpacked, and the result of each step is read again.
			const each = path(homes[1]).includes("/logs") ? 16 : 6;
			expect(cost(large).read).toBeLessThanOrEqual(each * (SIZES[1] + MATCHES) + 50);
		},
	);
});

test("creating an invite reads the same rows with 150 open invites as with 30", async () => {
	const { id, organization_id, owner, here } = await world();
	const [few, many] = SIZES;
	const invite = async () => {
		const body = { target_email: `${crypto.randomUUID()}@tenantry.test`, send_email: false };
		const response = await here("POST", "/invites", { body });
		expect(response.status).toBe(201);
		return cost(response);
	};
	const open = (n: number) =>
		insert(n, "invites", {
			id: uuid(id),
			organization_id: `${organization_id}`,
			target_email: "hex(randomblob(8)) || '@tenantry.test'",
			created_by: `${owner.id}`,
			emailing_attempt_made: "0",
			token_hash: uuid(id),
			created_at: `'${new Date().toISOString()}'`,
			updated_at: `'${new Date().toISOString()}'`,
		}).run();
	// The first entry of an activity log makes its counter, too.
	await invite();
	await open(few);
	const before = await invite();
	await open(many - few);
	expect(await invite()).toEqual(before);
});
