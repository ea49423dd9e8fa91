/**
 * The handwritten worker, which shows the minimum cost of a request. It has no framework, calls the rate limiter, and sends the
 * recorded statements of the service. Like the service, it caches the record of a key from KV. It validates only what it needs,
 * and has no ETag and no other headers.
 *
 * To measure parts, `?without=limiter,d1` leaves them out, and `?without=held` reads KV in each request.
 */
import type { Part, Recipe } from "./recipe.ts";

type Environment = {
	DB: D1Database;
	KEYS: KVNamespace;
	REQUESTS: RateLimit;
	RECIPES: { list: Recipe[][]; domain: Recipe[][]; invite: Recipe[][] };
};

type Row = Record<string, unknown>;

async function digest(text: string) {
	const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
	return new Uint8Array(hash).toHex();
}

/** The values that are generated for a request. */
type Made = { email: string; uuids: string[]; hash: string };

const NOTHING: Made = { email: "", uuids: [], hash: "" };

function fillIn(part: Part, { email, uuids, hash }: Made) {
	if (typeof part === "string") return part;
	if ("ms" in part) return new Date(Date.now() + part.ms).toISOString();
	if ("uuid" in part) {
		uuids[part.uuid] ??= crypto.randomUUID();
		return uuids[part.uuid];
	}
	return "hash" in part ? hash : email;
}

/** Sends the statements of one round trip. */
async function ask(DB: D1Database, recipes: Recipe[] = [], made = NOTHING) {
	const results = await DB.batch<Row>(
		recipes.map(({ sql, params }) =>
			DB.prepare(sql).bind(
				...params.map((param) =>
					"value" in param ? param.value : param.parts.map((part) => fillIn(part, made)).join(""),
				),
			),
		),
	);
	return results.map(({ results }) => results);
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
	is_verified: row.verified_at !== null,
	verified_at: row.verified_at,
	verification_challenge: row.verification_challenge,
	jit_provisioning_enabled: Boolean(row.jit_provisioning_enabled),
	sso_enforcement: row.sso_enforcement,
	has_saml: Boolean(row.saml_entity_id && row.saml_acs_url && row.saml_x509_cert),
	saml_entity_id: row.saml_entity_id,
	saml_acs_url: row.saml_acs_url,
	saml_x509_cert: row.saml_x509_cert,
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

async function list(url: URL, DB: D1Database, trips: Recipe[][], shape: (row: Row) => object) {
	const [[guard] = [], rows = [], [counted] = []] = await ask(DB, trips[0]);
	const refused = refusal(guard);
	if (refused) return refused;
	const limit = Number(url.searchParams.get("limit") ?? 100);
	const offset = Number(url.searchParams.get("offset") ?? 0);
	const more = rows.length > limit;
	return Response.json({
		count: counted?.count,
		next: more ? `${url.origin}${url.pathname}?limit=${limit}&offset=${offset + limit}` : null,
		previous: null,
		results: rows.slice(0, limit).map(shape),
	});
}

async function invite(request: Request, url: URL, DB: D1Database, trips: Recipe[][]) {
	const { target_email } = await request.json<{ target_email: string }>();
	if (!target_email.includes("@")) return refuse(400);
	const token = crypto.getRandomValues(new Uint8Array(32)).toHex();
	const made = { email: target_email, uuids: [], hash: await digest(token) };
	const [[guard] = []] = await ask(DB, trips[0], made);
	const refused = refusal(guard);
	if (refused) return refused;
	const results = await ask(DB, trips[1], made);
	const row = results.flat().find((each) => each.target_email === target_email);
	if (!row) return refuse(409);
	return Response.json(toInvite(row, `${url.origin}/invites/${token}`), { status: 201 });
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
		if (request.method === "POST") return invite(request, url, DB, RECIPES.invite);
		return url.pathname.endsWith("/domains")
			? list(url, DB, RECIPES.domain, toDomain)
			: list(url, DB, RECIPES.list, toMember);
	},
};
