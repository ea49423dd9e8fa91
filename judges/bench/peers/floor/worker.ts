/**
 * The handwritten worker, which shows the minimum cost of a request. It has no framework, calls the
 * rate limiter, and sends the recorded statements of the service. Like the service, it caches the
 * record of a key from KV, uses a D1 session, and sends the ETag and the other headers. It
 * validates only what it needs.
 *
 * To measure parts, `?without=limiter,d1` leaves them out, and `?without=held` reads KV in each
 * request. `?without=headers` leaves out the session, the ETag and the headers.
 */
import type { Generated, Part, Recipe, Value } from "./recipe.ts";

type Environment = {
	DB: D1Database;
	KEYS: KVNamespace;
	REQUESTS: RateLimit;
	RECIPES: { list: Recipe[][]; domain: Recipe[][]; invite: Recipe[][] };
};

type Row = Record<string, unknown>;

const encoder = new TextEncoder();

async function digest(text: string) {
	const hash = await crypto.subtle.digest("SHA-256", encoder.encode(text));
	return new Uint8Array(hash).toHex();
}

/** The values that are generated for a request. */
type Made = { email: string; uuids: string[]; hash: string };

const NOTHING: Made = { email: "", uuids: [], hash: "" };

const generate = ({ number }: Generated) =>
	number === "now" ? Date.now() : Math.floor(Math.random() * 2 ** 26);

function fillIn(part: Part, { email, uuids, hash }: Made) {
	if (typeof part === "string") return part;
	if ("number" in part) return generate(part);
	if ("ms" in part) return new Date(Date.now() + part.ms).toISOString();
	if ("uuid" in part) {
		uuids[part.uuid] ??= crypto.randomUUID();
		return uuids[part.uuid];
	}
	return "hash" in part ? hash : email;
}

function fill(value: Value, made: Made) {
	if ("value" in value) return value.value;
	if ("parts" in value) return value.parts.map((part) => fillIn(part, made)).join("");
	return generate(value);
}

/** A request in progress. */
type Job = {
	request: Request;
	url: URL;
	/** A D1 session or, without headers, the database. */
	db: D1Database | D1DatabaseSession;
	cost: { trips: number; read: number; written: number };
	hasHeaders: boolean;
};

/** Sends the statements of one round trip. */
async function ask({ db, cost }: Job, recipes: Recipe[] = [], made = NOTHING) {
	cost.trips += 1;
	const results = await db.batch<Row>(
		recipes.map(({ sql, params }) =>
			db.prepare(sql).bind(...params.map((param) => fill(param, made))),
		),
	);
	for (const { meta } of results) {
		cost.read += meta.rows_read;
		cost.written += meta.rows_written;
	}
	return results.map(({ results }) => results);
}

const BASE64 = { alphabet: "base64url", omitPadding: true } as const;

/** The headers that are the same in all responses. */
const HEADERS = {
	"Content-Type": "application/json",
	"Cross-Origin-Resource-Policy": "same-origin",
	"RateLimit-Policy": '"requests";q=480;w=60',
	"Referrer-Policy": "no-referrer",
	"Strict-Transport-Security": "max-age=15552000; includeSubDomains",
	"Tenantry-Version": "2026-11-21",
	Vary: "Authorization, Cookie, Tenantry-Version",
	"X-Content-Type-Options": "nosniff",
	"X-Frame-Options": "SAMEORIGIN",
};

async function respond({ request, db, cost, hasHeaders }: Job, value: object, status = 200) {
	if (!hasHeaders) return Response.json(value, { status });
	const bytes = encoder.encode(JSON.stringify(value));
	const headers: Record<string, string> = {
		...HEADERS,
		"Cache-Control": "no-store",
		"Server-Timing": `d1_trips;desc="${cost.trips}", d1_rows_read;desc="${cost.read}", d1_rows_written;desc="${cost.written}", kv_reads;desc="0"`,
		"X-Request-Id": request.headers.get("x-request-id") ?? crypto.randomUUID(),
	};
	const bookmark = "getBookmark" in db && db.getBookmark();
	if (bookmark) headers["x-d1-bookmark"] = bookmark;
	if (request.method === "GET") {
		const hash = await crypto.subtle.digest("SHA-256", bytes);
		const tag = `"${new Uint8Array(hash, 0, 16).toBase64(BASE64)}"`;
		headers.ETag = tag;
		headers["Cache-Control"] = "private, no-cache";
		if (request.headers.get("if-none-match")?.includes(tag))
			return new Response(null, { status: 304, headers });
	}
	return new Response(bytes, { status, headers });
}

const HELD_MS = 30_000;

/** The time at which each key's record was read. */
const held = new Map<string, number>();

async function isKnown(KEYS: KVNamespace, hash: string) {
	const since = held.get(hash);
	if (since !== undefined && Date.now() - since < HELD_MS) return true;
	const key = await KEYS.get(`key:${hash}`, { type: "json", cacheTtl: 60 });
	if (key) held.set(hash, Date.now());
	return key !== null;
}

const refuse = (status: number) => new Response(null, { status });

/** The first row of each batch shows whether the caller has access. */
function refusal(row: Row | undefined) {
	if (!row?.key_id || !row.is_active) return refuse(401);
	if (!row.organization_id) return refuse(404);
	return row.level === null ? refuse(403) : null;
}

const toUser = (row: Row) => ({
	id: row.user_id,
	uuid: row.uuid,
	distinct_id: row.distinct_id,
	first_name: row.first_name,
	last_name: row.last_name,
	email: row.email,
	is_email_verified: Boolean(row.is_email_verified),
	mascot_config: JSON.parse(String(row.mascot_config)),
});

const toMember = (row: Row) => ({
	id: row.id,
	user: toUser(row),
	level: row.level,
	joined_at: row.joined_at,
	updated_at: row.updated_at,
	is_2fa_enabled: Boolean(row.is_2fa_enabled),
	has_social_auth: Boolean(row.has_social_auth),
});

const toDomain = (row: Row) => ({
	id: row.id,
	domain: row.domain,
	verified_at: row.verified_at,
	verification_challenge: row.verification_challenge,
	jit_provisioning_enabled: Boolean(row.jit_provisioning_enabled),
	sso_enforcement: row.sso_enforcement,
	saml_entity_id: row.saml_entity_id,
	saml_acs_url: row.saml_acs_url,
	saml_x509_cert: row.saml_x509_cert,
	saml_idp_initiated: Boolean(row.saml_idp_initiated),
	oidc_issuer: row.oidc_issuer,
	oidc_client_id: row.oidc_client_id,
	oidc_client_secret: row.oidc_client_secret && "**************** SECRET ****************",
	jit_provisioning_level: row.jit_provisioning_level,
	break_glass: JSON.parse(String(row.break_glass)),
	is_verified: row.verified_at !== null,
	has_saml: Boolean(row.saml_entity_id && row.saml_acs_url && row.saml_x509_cert),
	has_oidc: Boolean(row.oidc_issuer && row.oidc_client_id && row.oidc_client_secret),
});

const toInvite = (row: Row, accept_url: string) => ({
	id: row.id,
	target_email: row.target_email,
	first_name: row.invited_first_name,
	emailing_attempt_made: Boolean(row.emailing_attempt_made),
	level: row.level,
	created_by: toUser(row),
	created_at: row.created_at,
	updated_at: row.updated_at,
	message: row.message,
	private_project_access: JSON.parse(String(row.private_project_access)),
	is_expired: !row.inviter_may_invite,
	accept_url,
});

/** @param by the columns that the list is sorted by */
async function list(job: Job, trips: Recipe[][], by: string[], shape: (row: Row) => object) {
	const { origin, pathname, searchParams } = job.url;
	const [[guard] = [], rows = [], [counted] = []] = await ask(job, trips[0]);
	const refused = refusal(guard);
	if (refused) return refused;
	const limit = Number(searchParams.get("limit") ?? 100);
	const end = Number(searchParams.get("offset") ?? 0) + limit;
	const last = rows[limit - 1];
	const nextPage = () => {
		const position = [end, counted?.count, by.map((column) => last?.[column])];
		const cursor = encoder.encode(JSON.stringify(position)).toBase64(BASE64);
		return `${origin}${pathname}?limit=${limit}&offset=${end}&cursor=${cursor}`;
	};
	return respond(job, {
		count: counted?.count,
		next: rows.length > limit ? nextPage() : null,
		previous: null,
		results: rows.slice(0, limit).map(shape),
	});
}

async function invite(job: Job, trips: Recipe[][]) {
	const { target_email } = await job.request.json<{ target_email: string }>();
	if (!target_email.includes("@")) return refuse(400);
	const token = crypto.getRandomValues(new Uint8Array(32)).toBase64(BASE64);
	const made = { email: target_email, uuids: [], hash: await digest(token) };
	const [[guard] = []] = await ask(job, trips[0], made);
	const refused = refusal(guard);
	if (refused) return refused;
	const results = await ask(job, trips[1], made);
	const row = results.flat().find((each) => each.target_email === target_email);
	if (!row) return refuse(409);
	return respond(job, toInvite(row, `${job.url.origin}/invites/${token}`), 201);
}

export default {
	async fetch(request: Request, { DB, KEYS, REQUESTS, RECIPES }: Environment) {
		const url = new URL(request.url);
		const without = url.searchParams.get("without")?.split(",") ?? [];
		const hash = await digest(request.headers.get("authorization")?.slice("Bearer ".length) ?? "");
		if (without.includes("held")) held.delete(hash);
		if (!(await isKnown(KEYS, hash))) return refuse(401);
		if (!without.includes("limiter")) {
			const { success } = await REQUESTS.limit({ key: hash });
			if (!success) return refuse(429);
		}
		if (without.includes("d1")) return Response.json({});
		if (without.includes("batch")) {
			await DB.prepare("select 1").run();
			return Response.json({});
		}
		const hasHeaders = !without.includes("headers");
		const start = request.method === "GET" ? "first-unconstrained" : "first-primary";
		const db = hasHeaders ? DB.withSession(request.headers.get("x-d1-bookmark") ?? start) : DB;
		const job = { request, url, db, cost: { trips: 0, read: 0, written: 0 }, hasHeaders };
		if (request.method === "POST") return invite(job, RECIPES.invite);
		return url.pathname.endsWith("/domains")
			? list(job, RECIPES.domain, ["domain"], toDomain)
			: list(job, RECIPES.list, ["joined_at", "id"], toMember);
	},
};
