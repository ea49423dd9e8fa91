import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { eq, type SQL, sql } from "drizzle-orm";
import type { BatchItem } from "drizzle-orm/batch";
import { drizzle } from "drizzle-orm/d1";
import { v7 } from "uuid";
import { genesis } from "../../src/activity/audit_streams/chain.ts";
import { newSecret, sealSecret } from "../../src/activity/webhooks/secret.ts";
import { app } from "../../src/app.ts";
import { accessControls, roleMembers, roles } from "../../src/db/schema/access.ts";
import { activityLog } from "../../src/db/schema/activity_log.ts";
import { auditStreams } from "../../src/db/schema/audit_streams.ts";
import {
	batchExportBackfills,
	batchExportRuns,
	batchExports,
} from "../../src/db/schema/batch_exports.ts";
import { oauthClients, oauthRefreshTokens, trustedIssuers } from "../../src/db/schema/oauth.ts";
import { domains, organizationId, projects } from "../../src/db/schema/organizations.ts";
import {
	invites,
	members,
	projectMembers,
	serviceAccounts,
	users,
} from "../../src/db/schema/people.ts";
import { personalApiKeys } from "../../src/db/schema/personal_api_keys.ts";
import {
	type Capabilities,
	pluginConfigs,
	pluginSourceFiles,
	plugins,
} from "../../src/db/schema/plugins.ts";
import { scimGroups, scimTokens } from "../../src/db/schema/scim.ts";
import { identities, passkeys, twoFactors } from "../../src/db/schema/sign_in.ts";
import { webhooks } from "../../src/db/schema/webhooks.ts";
import { keyCache } from "../../src/keys/key_cache.ts";
import { cache, digest, mask, newToken, newValue } from "../../src/keys/keys.ts";
import { newOrganization } from "../../src/organizations/organizations/queries.ts";
import { assertDocumented } from "./contract.ts";
import { patiently, spending } from "./time.ts";

export const db = drizzle(env.DB);

type CallOptions = {
	key?: string | undefined;
	/** Sent as JSON. */
	body?: unknown;
	/** Sent unchanged. */
	raw?: BodyInit;
	headers?: Record<string, string>;
	/** Variables and bindings to replace. */
	env?: Partial<Env>;
};

// biome-ignore lint/suspicious/noExplicitAny: each test knows the form of the body
type Result = { status: number; headers: Headers; body: any };

/** Sends a request to the worker. Every response is checked against the OpenAPI document. */
export async function call(
	method: string,
	path: string,
	{ key, body, raw, headers = {}, env: overrides }: CallOptions = {},
): Promise<Result> {
	const sent = new Headers(headers);
	if (key !== undefined && !sent.has("authorization")) sent.set("authorization", `Bearer ${key}`);
	if (body !== undefined && !sent.has("content-type")) sent.set("content-type", "application/json");
	const request = new Request(new URL(path, "https://tenantry.test"), {
		method,
		headers: sent,
		redirect: "manual",
		...(body !== undefined && { body: JSON.stringify(body) }),
		...(raw !== undefined && { body: raw }),
	});
	const context = createExecutionContext();
	const response = await spending("requests", async () => {
		const response = overrides
			? await app.fetch(request.clone(), { ...env, ...overrides }, context)
			: await exports.default.fetch(request.clone());
		await patiently(() => waitOnExecutionContext(context));
		return response;
	});
	await assertDocumented(request, response);
	const text = new TextDecoder().decode(await response.arrayBuffer());
	const json = /^application\/json\b/.test(response.headers.get("content-type") ?? "");
	return {
		status: response.status,
		headers: response.headers,
		body: text === "" ? null : json ? JSON.parse(text) : text,
	};
}

/**
 * Returns the tests' D1, which sends the batches of sessions through `batch`.
 * @param batch gets a function that sends the batch, and where the session starts
 */
export function withBatch(
	batch: (send: () => Promise<D1Result<object>[]>, start: string) => Promise<unknown>,
): Pick<Env, "DB"> {
	const withSession = (start: string) => {
		const session = env.DB.withSession(start);
		return {
			prepare: (query: string) => session.prepare(query),
			batch: (statements: D1PreparedStatement[]) => batch(() => session.batch(statements), start),
			getBookmark: () => session.getBookmark(),
		};
	};
	return { DB: Object.assign(Object.create(env.DB), { withSession }) };
}

/**
 * Returns the tests' D1, which calls `between` between a request's first and second round trip.
 * @param again call it also before the write of each retry
 * @param at the round trip to call it before, instead of the second
 */
export function racing(between: () => Promise<unknown>, { again = false, at = 2 } = {}) {
	let trips = 0;
	return withBatch(async (send) => {
		trips += 1;
		if (trips === at || (again && trips % 2 === 0)) await between();
		return send();
	});
}

/**
 * Returns the tests' D1, which records the size in bytes of the longest text that is bound or
 * returned as one value.
 */
export function weighing() {
	let heaviest = 0;
	const weigh = (values: unknown[]) => {
		for (const value of values)
			if (typeof value === "string")
				heaviest = Math.max(heaviest, new TextEncoder().encode(value).length);
	};
	const over = <D extends D1Database | D1DatabaseSession>(db: D): D =>
		Object.assign(Object.create(db), {
			prepare: (query: string) => {
				const statement = db.prepare(query);
				const bind = statement.bind.bind(statement);
				return Object.assign(statement, {
					bind: (...values: unknown[]) => {
						weigh(values);
						return bind(...values);
					},
				});
			},
			batch: async (statements: D1PreparedStatement[]) => {
				const batch = await db.batch<object>(statements);
				for (const { results } of batch) for (const row of results) weigh(Object.values(row));
				return batch;
			},
			...("withSession" in db
				? { withSession: (start: string) => over(db.withSession(start)) }
				: { getBookmark: () => db.getBookmark() }),
		});
	return { env: { DB: over(env.DB) }, heaviest: () => heaviest };
}

/** Returns the cost of a request, from the Server-Timing of its response. */
export function cost({ headers }: Result) {
	const timing = headers.get("server-timing") ?? "";
	const spent = (name: string) => Number(new RegExp(`\\b${name};desc="(\\d+)"`).exec(timing)?.[1]);
	return {
		trips: spent("d1_trips"),
		read: spent("d1_rows_read"),
		written: spent("d1_rows_written"),
		kv: spent("kv_reads"),
	};
}

/** Creates a user with a key that has all scopes. */
export async function person({ first_name = "Test" } = {}) {
	const email = `person-${v7()}@tenantry.test`;
	const key = await newKey(sql`(select id from users where email = ${email})`);
	const [[user], [row]] = await db.batch([
		db.insert(users).values({ email, first_name }).returning(),
		key.insert,
	]);
	if (!user) throw new Error("No user was created.");
	return { ...user, key: await key.store(row) };
}

type KeyOptions = Partial<typeof personalApiKeys.$inferInsert>;

/**
 * Returns a statement that inserts a key, and a function that stores its row in KV and returns its
 * value.
 */
async function newKey(user_id: number | SQL<number>, options: KeyOptions = {}) {
	const value = newValue();
	const hash = await digest(value);
	const values = { label: "Test", hash, mask_value: mask(value), scopes: ["*"], ...options };
	return {
		insert: db
			.insert(personalApiKeys)
			.values({ ...values, user_id })
			.returning(),
		async store(row: typeof personalApiKeys.$inferSelect | undefined) {
			if (!row) throw new Error("No key was created.");
			const { id, user_id, scopes, allowed_ips, expires_at } = row;
			const { scoped_organizations: organizations, scoped_projects: projects } = row;
			const record = { id, user_id, scopes, organizations, projects, allowed_ips, expires_at };
			await cache(env, hash, record);
			return value;
		},
	};
}

/** Creates a key of the user in D1 and KV, by default with all scopes. Returns its value. */
export async function keyFor(user_id: number, options: KeyOptions = {}) {
	const { insert, store } = await newKey(user_id, options);
	const [row] = await insert;
	return store(row);
}

/**
 * Removes the record of a key from the isolate's cache, as if another isolate had served its
 * requests.
 */
export const forget = async (key: string) => keyCache.delete(await digest(key));

/** Columns of a run that a Workflow instance is working on, so that no tick starts another. */
export const LEASED = { lease_expires_at: "9999-12-31T23:59:59.999Z" };

/** Creates a tenant: a user, an organization that the user owns, and its project. */
export async function world(name = "Acme") {
	const owner = await person();
	const id = v7();
	const row = { uuid: id, name, plugins_access_level: 9 };
	const { changes } = newOrganization(db, { ...owner, user_id: owner.id }, row);
	const [, , , , [project]] = await db.batch([
		...changes,
		db
			.select()
			.from(projects)
			.where(eq(projects.organization_id, organizationId(id))),
	]);
	if (!project) throw new Error("No project was created.");
	/** Sends a request as the owner. */
	const ask = (method: string, path: string, options: CallOptions = {}) =>
		call(method, path, { key: owner.key, ...options });
	return {
		owner,
		key: owner.key,
		id,
		/** The integer that rows refer to. */
		organization_id: project.organization_id,
		project: project.id,
		/** Sends a request as the owner, to a path under the organization. */
		here: (method: string, path: string, options?: CallOptions) =>
			ask(method, `/api/organizations/${id}${path}`, options),
		ask,
	};
}

/**
 * Runs a statement for each number below `n`, in one batch. A single statement could bind only 100
 * values.
 */
export async function times(n: number, statement: (i: number) => BatchItem<"sqlite">) {
	const [first, ...rest] = Array.from({ length: n }, (_, i) => statement(i));
	if (first) await db.batch([first, ...rest]);
}

/** Fields of an export that the schedule never runs. */
export const NOT_DUE = {
	next_start_at: "2026-01-01T00:00:00.000Z",
	next_end_at: "9999-01-01T00:00:00.000Z",
	due_at: "9999-01-01T00:00:00.000Z",
};

/** SQL for the row's id of an export. */
export const rowOf = (batch_export: string) =>
	sql<number>`(select id from batch_exports where uuid = ${batch_export})`;

/** Returns the row's id of an export. */
export async function rowIdOf(batch_export: string) {
	const [row] = await db
		.select({ id: batchExports.id })
		.from(batchExports)
		.where(eq(batchExports.uuid, batch_export));
	return row?.id ?? 0;
}

type Inserted<T> = Omit<T, "batch_export_id">;

const inserted = (batch_export: string, column: "runs" | "backfills", n: number) =>
	db
		.update(batchExports)
		.set({ [column]: sql`${batchExports[column]} + ${n}` })
		.where(eq(batchExports.uuid, batch_export));

const insertRuns = (
	batch_export: string,
	runs: Inserted<typeof batchExportRuns.$inferInsert>[],
) => {
	const rows = runs.map((run) => ({ ...run, batch_export_id: rowOf(batch_export) }));
	return [
		db.insert(batchExportRuns).values(rows),
		inserted(batch_export, "runs", rows.length),
	] as const;
};

const insertBackfills = (
	batch_export: string,
	backfills: Inserted<Omit<typeof batchExportBackfills.$inferInsert, "next_start_at">>[],
) => {
	const rows = backfills.map((backfill) => ({
		...backfill,
		next_start_at: backfill.start_at,
		batch_export_id: rowOf(batch_export),
	}));
	return [
		db.insert(batchExportBackfills).values(rows),
		inserted(batch_export, "backfills", rows.length),
	] as const;
};

/** Inserts runs of an export without the API, and counts them. */
export const addRuns = (batch_export: string, ...runs: Parameters<typeof insertRuns>[1]) =>
	db.batch(insertRuns(batch_export, runs));

/** Inserts backfills of an export without the API, and counts them. */
export const addBackfills = (
	batch_export: string,
	...backfills: Parameters<typeof insertBackfills>[1]
) => db.batch(insertBackfills(batch_export, backfills));

/** Returns statements that give an app access to what a user can do. */
export const insertGrant = (user_id: number, id: string, key: object = {}) =>
	[
		db.insert(personalApiKeys).values({
			...{ id, user_id, label: "Notes", hash: v7(), mask_value: "", scopes: ["project:read"] },
			client_id: "https://notes.example/app",
			audience: "api",
			...key,
		}),
		db
			.insert(oauthRefreshTokens)
			.values({ key_id: id, family: "", hash: "", expires_at: "2999-01-01T00:00:00.000Z" }),
	] as const;

const FILE = "one.jsonl";

/** Stores a file of a run, and returns what the run's row says about it. */
async function storedFile() {
	const key = `runs/${FILE}`;
	const httpMetadata = { contentType: "application/jsonl" };
	const { etag, size: bytes } = await env.EXPORTS.put(key, "{}\n", { httpMetadata });
	return { key, rows: 1, bytes, etag, digest: null };
}

/** Creates a tenant with an object for every parameter in the routes' paths. */
export async function furnished() {
	const home = await world();
	const member = await join(home.id, 1);
	const [key_id, domain, invite, webhook, delivery] = [v7(), v7(), v7(), v7(), v7()];
	const account = await serviceAccount(home);
	const [account_key, member_key] = [v7(), v7()];
	const trusted_issuer = v7();
	const [passkey, session, oauth_grant] = [v7(), v7(), v7()];
	const [batch_export, backfill, run, ended_run] = [v7(), v7(), v7(), v7()];
	const [audit_stream, client] = [v7(), v7()];
	const [scim_token, scim_group] = [v7(), v7()];
	const [role, access_control] = [v7(), v7()];
	const file = await storedFile();
	const ofBackfill = { backfill_id: backfill, by: "event" as const, ...LEASED };
	const [event] = await db
		.insert(activityLog)
		.values({
			organization_id: home.organization_id,
			activity: "paused",
			scope: "BatchExport",
			item_id: batch_export,
			is_system: true,
		})
		.returning();
	await db.batch([
		db.insert(projectMembers).values({
			project_id: home.project,
			organization_id: organizationId(home.id),
			user_id: member.id,
			level: 1,
		}),
		db.insert(twoFactors).values({ user_id: home.owner.id }),
		db.insert(passkeys).values({
			id: passkey,
			credential_id: passkey,
			user_id: home.owner.id,
			name: "Laptop",
			public_key: "",
			sign_count: 0,
			is_backed_up: false,
		}),
		...(
			[
				[session, home.owner.id],
				[v7(), member.id],
			] as const
		).map(([id, user_id]) =>
			db.insert(personalApiKeys).values({
				id,
				user_id,
				label: "Console",
				hash: v7(),
				mask_value: "",
				scopes: ["*"],
				expires_at: "2999-01-01T00:00:00.000Z",
				session: { method: "mail", connection: null, address: null, user_agent: null },
			}),
		),
		...insertGrant(home.owner.id, oauth_grant),
		db.insert(personalApiKeys).values({
			id: member_key,
			user_id: member.id,
			label: "Spare",
			hash: v7(),
			mask_value: "",
			scopes: ["project:read"],
		}),
		db.insert(personalApiKeys).values({
			id: key_id,
			user_id: home.owner.id,
			label: "Spare",
			hash: v7(),
			mask_value: "tnt_…test",
			scopes: ["personal_api_key:read"],
		}),
		db.insert(personalApiKeys).values({
			id: account_key,
			user_id: account.user_id,
			label: "Spare",
			hash: v7(),
			mask_value: "tnt_…test",
			scopes: ["organization_member:read"],
			scoped_organizations: [home.id],
		}),
		db.insert(roles).values({ id: role, organization_id: home.organization_id, name: "Role" }),
		db.insert(roleMembers).values({
			organization_id: home.organization_id,
			role_id: role,
			user_id: member.id,
		}),
		// It limits nobody.
		db.insert(accessControls).values({
			id: access_control,
			organization_id: home.organization_id,
			resource: "activity_log",
			role_id: role,
			access_level: 4,
		}),
		db.insert(domains).values({
			id: domain,
			organization_id: organizationId(home.id),
			domain: `${domain}.example.com`,
			verification_challenge: newToken(),
		}),
		db.insert(oauthClients).values({
			id: client,
			organization_id: organizationId(home.id),
			name: "Notes",
			redirect_uris: ["https://notes.example/callback"],
		}),
		...["github", `oidc:${domain}`].map((connection) =>
			db.insert(identities).values({
				connection,
				subject: v7(),
				user_id: home.owner.id,
				email: home.owner.email,
			}),
		),
		db.insert(scimTokens).values({
			id: scim_token,
			organization_id: organizationId(home.id),
			domain_id: domain,
			hash: v7(),
			mask_value: "tnt_scim_…test",
			created_by: home.owner.id,
		}),
		db.insert(scimGroups).values({ domain_id: domain, id: scim_group, display_name: "Group" }),
		db.insert(invites).values({
			id: invite,
			organization_id: organizationId(home.id),
			target_email: `${invite}@tenantry.test`,
			created_by: home.owner.id,
			emailing_attempt_made: false,
			token_hash: v7(),
		}),
		db.insert(auditStreams).values({
			id: audit_stream,
			organization_id: home.organization_id,
			organization_uuid: home.id,
			name: "Stream",
			destination: { type: "R2", config: { prefix: "audit" } },
			enabled: false,
			digest: genesis(audit_stream),
		}),
		db.insert(webhooks).values({
			id: webhook,
			organization_id: organizationId(home.id),
			url: `${env.RECEIVER_URL}/hooks/${webhook}`,
			// It doesn't get the event of its own creation.
			types: ["nothing.happened"],
			selectors: ["Nothing.happened"],
			secret: await sealSecret(env, webhook, newSecret()),
			position: 0,
			deliveries: [
				{
					id: delivery,
					event_id: v7(),
					position: event?.position ?? 0,
					type: "batch_export.paused",
					reason: "event",
					attempt: 1,
					status: "delivered",
					response_status: 200,
					duration_ms: 12,
					error: null,
					created_at: new Date().toISOString(),
				},
			],
		}),
		db.insert(trustedIssuers).values({
			id: trusted_issuer,
			organization_id: organizationId(home.id),
			service_account_id: account.id,
			name: "Builds",
			issuer: "https://issuer.example",
			audience: "https://app.tenantry.test",
			subject: "repo:owner/repository:ref:refs/heads/main",
			scopes: ["project:read"],
		}),
		db.insert(batchExports).values({
			uuid: batch_export,
			organization_id: organizationId(home.id),
			project_id: home.project,
			name: "Export",
			destination: { type: "NoOp", config: {} },
			interval: "hour",
			...NOT_DUE,
		}),
		...insertBackfills(batch_export, [
			{
				id: backfill,
				project_id: home.project,
				interval: "hour",
				start_at: "2026-01-01T00:00:00.000Z",
				end_at: "2026-01-01T02:00:00.000Z",
				total_runs: 2,
			},
		]),
		...insertRuns(batch_export, [
			{
				...ofBackfill,
				id: ended_run,
				data_interval_start: "2026-01-01T00:00:00.000Z",
				data_interval_end: "2026-01-01T01:00:00.000Z",
				status: "Failed",
				finished_at: "2026-01-01T01:00:00.000Z",
			},
			{
				...ofBackfill,
				id: run,
				data_interval_start: "2026-01-01T01:00:00.000Z",
				data_interval_end: "2026-01-01T02:00:00.000Z",
				files: [file],
			},
		]),
	]);
	const plugin = (capabilities: Capabilities) =>
		db
			.insert(plugins)
			.values({
				organization_id: organizationId(home.id),
				plugin_type: "source",
				name: "Plugin",
				capabilities,
			})
			.returning();
	const plugin_id = sql<number>`(select max(id) from plugins)`;
	const [[destination], [frontend], , [config], [importer]] = await db.batch([
		plugin({ methods: ["onEvent"] }),
		plugin({ jobs: ["go"] }),
		db
			.insert(pluginSourceFiles)
			.values({ plugin_id, filename: "frontend.tsx", source: "", compiled: "export {};" }),
		db
			.insert(pluginConfigs)
			.values({
				project_id: home.project,
				organization_id: organizationId(home.id),
				plugin_id,
				order: 1,
			})
			.returning(),
		plugin({ scheduled_tasks: ["runEveryHour"] }),
	]);
	if (!destination || !frontend || !importer) throw new Error("No plugin was created.");
	return {
		...home,
		key_id,
		passkey,
		session,
		oauth_grant,
		account: account.id,
		account_key,
		member_key,
		trusted_issuer,
		domain,
		client,
		role,
		access_control,
		scim_token,
		scim_group,
		webhook,
		delivery,
		invite,
		member: member.uuid,
		batch_export,
		audit_stream,
		backfill,
		run,
		ended_run,
		file: FILE,
		destination: destination.id,
		frontend: frontend.id,
		importer: importer.id,
		config: config?.id ?? 0,
	};
}

/** Creates a service account of the organization, without keys. */
export async function serviceAccount(
	{ id: organization_id, owner }: { id: string; owner: { id: number } },
	{ name = "Deploy", level = 1 } = {},
) {
	const id = v7();
	const user = { uuid: id, email: `${id}@service-account.invalid`, first_name: name };
	const user_id = sql<number>`(select id from users where uuid = ${id})`;
	const [[row]] = await db.batch([
		db
			.insert(users)
			.values({ ...user, is_service_account: true })
			.returning(),
		db.insert(serviceAccounts).values({
			id,
			organization_id: organizationId(organization_id),
			user_id,
			name,
			created_by: owner.id,
		}),
		db.insert(members).values({ organization_id: organizationId(organization_id), user_id, level }),
	]);
	return { id, user_id: row?.id ?? 0 };
}

/** Creates a user who is a member of the organization. */
export async function join(organization_id: string, level: number) {
	const user = await person();
	await db
		.insert(members)
		.values({ organization_id: organizationId(organization_id), user_id: user.id, level });
	return user;
}
