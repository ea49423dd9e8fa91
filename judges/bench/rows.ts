/**
 * Rows for the lists of the API without a limit; judges/bench/bounded.ts has those with one. Each list has
 * its own organization, so that the lists don't affect each other. Five rows are special: filters
 * that match few rows match these, at any length.
 */
import { FIRST_PERSON, memberships, people, TIME, uuid, uuidSql } from "./seed.ts";

/**
 * The owners of the organizations, by list. The number is the id of the user and of the project.
 */
export const OWNERS = {
	members: 1,
	organizations: 2,
	projects: 3,
	invites: 4,
	domains: 5,
	activity: 6,
	exports: 7,
	runs: 8,
	plugins: 9,
	configs: 10,
	logs: 11,
	projectMembers: 12,
	keys: 13,
	streams: 14,
	webhooks: 15,
	accounts: 16,
	signOn: 17,
} as const;

export type OwnerName = keyof typeof OWNERS;

/** Rows with a lower number are special. */
export const FEW = 5;

/** Returns SQL for an id of row `i`. Each use has its own number, `table`. */
export const id = (table: number) => uuidSql("other", `${table * 10_000_000} + i`);

const special = (few: string, others: string) => `iif(i < ${FEW}, ${few}, ${others})`;

/** Times: a few rows are from the distant future, a few from the past. */
const TIMES = `case when i < ${FEW} then '2100-01-01T00:00:0' || i || '.000Z' when i < ${2 * FEW} then '1999-01-01T00:00:0' || i || '.000Z' else ${TIME} end`;

/**
 * Positions in a log: a few rows are from the past, because rows are added in the order of time.
 */
const POSITION = `unixepoch(${special("'1999-01-01T00:00:00.000Z'", TIME)}) * 1000 + i`;

export const EXPORT = uuid("other", 1);
export const RUN = uuid("other", 30_000_000);
/** The entry of the activity log with row `FEW`, which is its first one (src/db/entries.ts). */
export const FIRST_EVENT = (() => {
	const at = Date.parse("1999-01-01T00:00:05.000Z").toString(16).padStart(12, "0");
	const position = (2 * FEW).toString(16).padStart(12, "0");
	return `${at.slice(0, 8)}-${at.slice(8)}-7000-8000-${position}`;
})();

/** The role whose members are listed. */
export const ROLE = uuid("other", 310_000_000);

/** The plugin whose only config has the listed log. */
export const PLUGIN = 901;

/** The capabilities of plugins, by family. */
const DESTINATION = `'{"methods":["onEvent"]}'`;
const FRONTEND_APP = "'{}'";
const IMPORT_APP = `'{"scheduled_tasks":["runEveryHour"]}'`;
const DESTINATION_AND_IMPORT_APP = `'{"methods":["onEvent"],"scheduled_tasks":["runEveryHour"]}'`;

/**
 * Two families have few plugins, which match the filters in `most`. All other plugins are in the
 * third family.
 */
const CAPABILITIES = `case when i between ${2 * FEW} and ${3 * FEW - 1} then ${FRONTEND_APP} when i between ${3 * FEW} and ${4 * FEW - 1} then ${IMPORT_APP} else ${DESTINATION} end`;

export const TEXT = special("'Lovelace ' || i", "'Row ' || i");

/** SQL for the same time as an integer. */
const milliseconds = (time: string) =>
	`cast(round(unixepoch(${time}, 'subsec') * 1000) as integer)`;

/** The same times in milliseconds. */
export const MILLISECONDS = milliseconds(TIMES);

/**
 * Columns of the activity log, whose entries are in the order of time. Two organizations have
 * entries.
 */
const entry = (name: "activity" | "plugins") => ({
	origin: `${special("'203.0.113.7'", "'203.0.113.8'")} || '\t\t\t\t\t\t'`,
	position: `${special("1000000", "0")} + 2 * i + ${name === "activity" ? 0 : 1}`,
	organization_id: OWNERS[name],
	created_at: MILLISECONDS,
});

const plugin = (name: "plugins" | "configs" | "logs") => ({
	organization_id: OWNERS[name],
	plugin_type: "'local'",
	capabilities: DESTINATION,
	created_at: TIME,
	updated_at: TIME,
});

const config = (name: "configs" | "logs") => ({
	project_id: OWNERS[name],
	organization_id: OWNERS[name],
	enabled: 1,
	order: "i",
	created_at: TIME,
	updated_at: TIME,
});

export const batchExport = (name: "exports" | "runs") => ({
	organization_id: OWNERS[name],
	project_id: OWNERS[name],
	name: TEXT,
	destination: `'{"type":"NoOp","config":{}}'`,
	interval: "'hour'",
	paused: 1,
	next_start_at: TIME,
	next_end_at: TIME,
	due_at: TIME,
	created_at: TIME,
	last_updated_at: TIME,
});

export type Columns = Record<string, string | number>;

/** The id of the row of `EXPORT`. */
export const EXPORT_ROW = 1_000_000_000;

/**
 * Statements that count runs, backfills and entries of the activity log, as those of the service
 * that insert them do.
 */
export const COUNTS = [
	`update batch_exports set
		runs = (select count(*) from batch_export_runs where batch_export_id = ${EXPORT_ROW}),
		backfills = (select count(*) from batch_export_backfills where batch_export_id = ${EXPORT_ROW})
		where id = ${EXPORT_ROW}`,
	// An organization has entries of one project.
	`update activity_log set
		(total, total_without_project, project_total) = (counted.total, counted.total_without_project, counted.project_total)
		from (
			select position, count(*) over earlier as total, sum(project_id is null) over earlier as total_without_project,
				sum(project_id is not null) over earlier as project_total
			from activity_log window earlier as (partition by organization_id order by position)
		) as counted
		where counted.position = activity_log.position`,
];

/** Tables with a single row, which other rows refer to. */
export const ONCE: [table: string, columns: Columns][] = [
	["batch_exports", { ...batchExport("runs"), id: EXPORT_ROW, uuid: `'${EXPORT}'` }],
	["plugins", { ...plugin("logs"), id: PLUGIN }],
	[
		"plugin_configs",
		{ ...config("logs"), id: PLUGIN, uuid: `'${uuid("other", 2)}'`, plugin_id: PLUGIN },
	],
];

/**
 * As many objects of most kinds an organization can have (docs/api.md#limits). A user's
 * organizations are as many here.
 */
const MAX_OBJECTS = 1_000;

/**
 * Tables with as many rows as the lists are long, at most `max`. Ids increase, as in the service.
 */
export const MANY: [table: string, columns: Columns, max?: number][] = [
	["users", people],
	["members", memberships(OWNERS.members)],
	[
		"role_members",
		{
			organization_id: OWNERS.members,
			role_id: `'${ROLE}'`,
			user_id: `${FIRST_PERSON} + i`,
			created_at: TIME,
		},
		MAX_OBJECTS,
	],
	[
		"organizations",
		{
			id: "10000000 + i",
			uuid: uuidSql("organization", "10000000 + i"),
			name: TEXT,
			slug: "'many-' || i",
			plugins_access_level: 9,
			created_at: TIME,
			updated_at: TIME,
		},
		MAX_OBJECTS,
	],
	[
		"members",
		{
			id: uuidSql("member", "10000000 + i"),
			organization_id: "10000000 + i",
			user_id: OWNERS.organizations,
			level: 15,
			joined_at: TIME,
			updated_at: TIME,
		},
		MAX_OBJECTS,
	],
	[
		"projects",
		{
			id: "10000000 + i",
			uuid: id(2),
			organization_id: "10000000 + i",
			name: TEXT,
			created_at: TIME,
		},
		MAX_OBJECTS,
	],
	[
		"projects",
		{
			id: "20000000 + i",
			uuid: id(3),
			organization_id: OWNERS.projects,
			name: TEXT,
			created_at: TIME,
		},
		MAX_OBJECTS,
	],
	[
		"invites",
		{
			id: id(4),
			organization_id: OWNERS.invites,
			target_email: special(
				"'lovelace-' || i || '@example.org'",
				"'invited-' || i || '@example.org'",
			),
			created_by: OWNERS.invites,
			emailing_attempt_made: 0,
			token_hash: "printf('%064x', i)",
			created_at: TIME,
			updated_at: TIME,
		},
	],
	[
		"domains",
		{
			id: id(5),
			organization_id: OWNERS.domains,
			domain: special("'lovelace-' || i || '.example.org'", "'host-' || i || '.example.org'"),
			claimed_at: TIME,
			verification_challenge: "'challenge'",
		},
		MAX_OBJECTS,
	],
	[
		"activity_log",
		{
			...entry("activity"),
			project_id: `iif(i % 2, ${OWNERS.activity}, null)`,
			user_id: special(String(FIRST_PERSON), String(OWNERS.activity)),
			activity: special("'deleted'", "'updated'"),
			scope: special("'Domain'", "'Member'"),
			item_id: special("'special'", "'item ' || i"),
			name: TEXT,
		},
	],
	[
		"batch_export_runs",
		{
			id: id(3),
			batch_export_id: EXPORT_ROW,
			backfill_id: special("'one'", "null"),
			status: special("'Failed'", "'Completed'"),
			data_interval_start: milliseconds(TIME),
			data_interval_end: MILLISECONDS,
			created_at: milliseconds(TIME),
			finished_at: milliseconds(TIME),
			// The log of a run is read until then.
			last_updated_at: String(Date.UTC(2099)),
			files: `'[{"key":"row.jsonl","rows":1,"bytes":1,"etag":"1","digest":null}]'`,
		},
	],
	[
		"batch_export_logs",
		{
			batch_export_id: EXPORT_ROW,
			position: POSITION,
			total: "i + 1",
			run_id: `iif(i % 2, '${RUN}', null)`,
			id: id(8),
			entries: `json_array(json_array(${POSITION}, ${special("'ERROR'", "'INFO'")}, ${TEXT}))`,
		},
	],
	[
		"batch_export_backfills",
		{
			id: id(9),
			batch_export_id: EXPORT_ROW,
			project_id: OWNERS.runs,
			start_at: TIME,
			next_start_at: TIME,
			end_at: TIMES,
			interval: "'hour'",
			status: special("'Cancelled'", "'Completed'"),
			total_runs: 1,
			created_at: TIME,
			finished_at: TIME,
			last_updated_at: TIME,
		},
	],
	[
		"plugins",
		{
			...plugin("plugins"),
			id: "1000 + i",
			name: TEXT,
			capabilities: CAPABILITIES,
		},
		MAX_OBJECTS,
	],
	[
		"activity_log",
		{
			...entry("plugins"),
			user_id: special(String(FIRST_PERSON), String(OWNERS.plugins)),
			activity: special("'deleted'", "'updated'"),
			scope: "'Plugin'",
			item_id: "1000 + i",
			name: special("'Lovelace'", "'Row'"),
		},
		MAX_OBJECTS,
	],
	// Each config is for another plugin.
	[
		"plugins",
		{
			...plugin("configs"),
			id: "10000000 + i",
			capabilities: special(DESTINATION_AND_IMPORT_APP, DESTINATION),
		},
		MAX_OBJECTS,
	],
	[
		"plugin_configs",
		{ ...config("configs"), id: "1000 + i", uuid: id(11), plugin_id: "10000000 + i" },
		MAX_OBJECTS,
	],
	[
		"plugin_logs",
		{
			plugin_config_id: PLUGIN,
			position: POSITION,
			total: "i + 1",
			id: id(12),
			entries: `json_array(json_array(${POSITION}, ${special("'ERROR'", "'LOG'")}, ${TEXT}, 'PLUGIN'))`,
		},
	],
	[
		"members",
		{
			...memberships(OWNERS.projectMembers),
			id: uuidSql("member", "20000000 + i"),
		},
	],
	[
		"project_members",
		{
			id: id(14),
			project_id: OWNERS.projectMembers,
			organization_id: OWNERS.projectMembers,
			user_id: `${FIRST_PERSON} + i`,
			level: 1,
			joined_at: TIME,
			updated_at: TIME,
		},
	],
	// Keys of other users: judges/bench/bounded.ts has the caller's.
	[
		"personal_api_keys",
		{
			id: id(15),
			user_id: `${FIRST_PERSON} + i`,
			label: TEXT,
			hash: "printf('%064x', i)",
			mask_value: "'tnt_…test'",
			created_at: TIME,
		},
	],
];
