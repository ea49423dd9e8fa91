/**
 * Three operations of the service, as a team would typically write them with Hono, Drizzle and zod:
 * one query after another. The tables, the responses and the checks of the caller are the same.
 */
import { zValidator } from "@hono/zod-validator";
import { and, count, desc, eq, getTableColumns } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { type Context, Hono } from "hono";
import { createMiddleware } from "hono/factory";
import { HTTPException } from "hono/http-exception";
import { v7 } from "uuid";
import * as z from "zod";
import { activityLog } from "../../../../src/db/schema/activity_log.ts";
import { domains, organizations } from "../../../../src/db/schema/organizations.ts";
import { invites, members, users } from "../../../../src/db/schema/people.ts";
import { personalApiKeys } from "../../../../src/db/schema/personal_api_keys.ts";

type App = {
	Bindings: { DB: D1Database; KEYS: KVNamespace; REQUESTS: RateLimit };
	Variables: {
		caller: { id: number; email: string };
		organization: { id: number; name: string };
		level: number;
	};
};

const Key = z.object({ id: z.string(), user_id: z.int(), scopes: z.array(z.string()) });

async function digest(text: string) {
	const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
	return new Uint8Array(hash).toHex();
}

/**
 * Requires a known key that still exists, has an active owner, and hasn't reached its rate limit.
 */
const authenticated = createMiddleware<App>(async (c, next) => {
	const value = c.req.header("authorization")?.replace(/^Bearer /, "") ?? "";
	const hash = await digest(value);
	const cached = await c.env.KEYS.get(`key:${hash}`, { type: "json", cacheTtl: 60 });
	const key = Key.safeParse(cached).data;
	if (!key) throw new HTTPException(401);
	const { success } = await c.env.REQUESTS.limit({ key: key.id });
	if (!success) throw new HTTPException(429);
	const [caller] = await drizzle(c.env.DB)
		.select({ id: users.id, email: users.email })
		.from(personalApiKeys)
		.innerJoin(users, eq(users.id, personalApiKeys.user_id))
		.where(and(eq(personalApiKeys.hash, hash), eq(users.is_active, true)));
	if (!caller) throw new HTTPException(401);
	c.set("caller", caller);
	await next();
});

/** Requires the caller to be a member of the organization. */
const member = createMiddleware<App>(async (c, next) => {
	const [membership] = await drizzle(c.env.DB)
		.select({ id: organizations.id, name: organizations.name, level: members.level })
		.from(members)
		.innerJoin(organizations, eq(organizations.id, members.organization_id))
		.where(
			and(
				eq(organizations.uuid, c.req.param("organization_id") ?? ""),
				eq(members.user_id, c.var.caller.id),
			),
		);
	if (!membership) throw new HTTPException(403);
	c.set("organization", membership);
	c.set("level", membership.level);
	await next();
});

const paging = zValidator(
	"query",
	z.object({
		limit: z.coerce.number().int().min(1).max(1000).default(100),
		offset: z.coerce.number().int().min(0).default(0),
	}),
);

/** Returns the JSON of a page. */
function envelope<T>(
	c: Context<App>,
	{ limit, offset }: { limit: number; offset: number },
	total: number,
	results: T[],
) {
	const link = (to: number) => {
		const url = new URL(c.req.url);
		url.searchParams.set("limit", String(limit));
		url.searchParams.set("offset", String(to));
		return url.href;
	};
	return {
		count: total,
		next: offset + limit < total ? link(offset + limit) : null,
		previous: offset > 0 ? link(Math.max(0, offset - limit)) : null,
		results,
	};
}

const user = {
	id: users.id,
	uuid: users.uuid,
	distinct_id: users.distinct_id,
	first_name: users.first_name,
	last_name: users.last_name,
	email: users.email,
	is_email_verified: users.is_email_verified,
	mascot_config: users.mascot_config,
};

const LIFETIME_MS = 3 * 86_400_000;

const newInvite = z.object({
	target_email: z.email().toLowerCase(),
	first_name: z.string().max(30).default(""),
	level: z.literal([1, 8, 15]).default(1),
	message: z.string().nullable().default(null),
});

/** The columns of a domain in responses. */
const {
	organization_id,
	claimed_at,
	recheck_at,
	failed_rechecks,
	missing_since,
	...domainColumns
} = getTableColumns(domains);

export default new Hono<App>()
	.use("/api/organizations/:organization_id/*", authenticated, member)
	.get("/api/organizations/:organization_id/members", paging, async (c) => {
		const page = c.req.valid("query");
		const db = drizzle(c.env.DB);
		// The index of the list has this column. With the user's id, each page would sort all members.
		const where = and(
			eq(members.organization_id, c.var.organization.id),
			eq(members.is_active, true),
		);
		const results = await db
			.select({
				id: members.id,
				user,
				level: members.level,
				joined_at: members.joined_at,
				updated_at: members.updated_at,
				is_2fa_enabled: users.is_2fa_enabled,
				has_social_auth: users.has_social_auth,
			})
			.from(members)
			.innerJoin(users, eq(users.id, members.user_id))
			.where(where)
			.orderBy(desc(members.joined_at), desc(members.id))
			.limit(page.limit)
			.offset(page.offset);
		const [total] = await db.select({ count: count() }).from(members).where(where);
		return c.json(envelope(c, page, total?.count ?? 0, results));
	})
	.get("/api/organizations/:organization_id/domains", paging, async (c) => {
		const page = c.req.valid("query");
		const db = drizzle(c.env.DB);
		const where = eq(domains.organization_id, c.var.organization.id);
		const rows = await db
			.select(domainColumns)
			.from(domains)
			.where(where)
			.orderBy(domains.domain)
			.limit(page.limit)
			.offset(page.offset);
		const [total] = await db.select({ count: count() }).from(domains).where(where);
		const results = rows.map((domain) => ({
			...domain,
			is_verified: domain.verified_at !== null,
			has_saml: Boolean(domain.saml_entity_id && domain.saml_acs_url && domain.saml_x509_cert),
			has_oidc: Boolean(domain.oidc_issuer && domain.oidc_client_id && domain.oidc_client_secret),
		}));
		return c.json(envelope(c, page, total?.count ?? 0, results));
	})
	.post("/api/organizations/:organization_id/invites", zValidator("json", newInvite), async (c) => {
		const { organization, caller, level } = c.var;
		const body = c.req.valid("json");
		const db = drizzle(c.env.DB);
		if (body.level > level) throw new HTTPException(403);
		const [existing] = await db
			.select({ id: members.id })
			.from(members)
			.innerJoin(users, eq(users.id, members.user_id))
			.where(and(eq(members.organization_id, organization.id), eq(users.email, body.target_email)));
		if (existing) throw new HTTPException(400, { message: "Already a member." });
		const token = v7() + v7();
		await db
			.delete(invites)
			.where(
				and(
					eq(invites.organization_id, organization.id),
					eq(invites.target_email, body.target_email),
				),
			);
		const [invite] = await db
			.insert(invites)
			.values({
				...body,
				organization_id: organization.id,
				created_by: caller.id,
				emailing_attempt_made: false,
				token_hash: await digest(token),
			})
			.returning();
		if (!invite) throw new HTTPException(500);
		await db.insert(activityLog).values({
			organization_id: organization.id,
			user_id: caller.id,
			activity: "created",
			scope: "Invite",
			item_id: invite.id,
			name: invite.target_email,
		});
		const [created_by] = await db.select(user).from(users).where(eq(users.id, caller.id));
		const { token_hash: _, organization_id: __, ...shown } = invite;
		return c.json(
			{
				...shown,
				is_expired: Date.parse(invite.created_at) + LIFETIME_MS < Date.now(),
				created_by,
				accept_url: new URL(`/invites/${token}`, c.req.url).href,
			},
			201,
		);
	});
