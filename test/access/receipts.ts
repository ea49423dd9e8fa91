/** What can be revoked with a receipt, and requests that race with it. */
import { env } from "cloudflare:workers";
import { and, eq, sql } from "drizzle-orm";
import { v7 } from "uuid";
import { expect } from "vitest";
import { activityLog } from "../../src/db/schema/activity_log.ts";
import { personalApiKeys } from "../../src/db/schema/personal_api_keys.ts";
import { ACCESS_TOKEN, digest, newValue } from "../../src/keys/keys.ts";
import { checked } from "../support/jws.ts";
import { UNLIMITED } from "../support/mcp.ts";
import { published } from "../support/published.ts";
import { call, db, insertGrant, join, keyFor, serviceAccount, world } from "../support/world.ts";

type Home = Awaited<ReturnType<typeof world>>;

/** A key that works, the path whose DELETE revokes it, and what the receipt names. */
type Subject = { value: string; path: string; revoked: object; by?: string };

const ME = "/api/users/@me";
const LATER = "2999-01-01T00:00:00.000Z";

const idOf = async (value: string) =>
	(
		await db
			.select()
			.from(personalApiKeys)
			.where(eq(personalApiKeys.hash, await digest(value)))
	)[0]?.id;

async function grant(user_id: number) {
	const [id, value] = [v7(), newValue(ACCESS_TOKEN)];
	const key = { hash: await digest(value), scopes: ["*"], expires_at: LATER };
	await db.batch(insertGrant(user_id, id, key));
	return { id, value };
}

/** Each kind of revocation. */
export const KINDS: Record<string, (home: Home) => Promise<Subject>> = {
	"a member": async ({ id }) => {
		const { uuid, key: value } = await join(id, 8);
		const path = `/api/organizations/${id}/members/${uuid}`;
		return { value, path, revoked: { type: "member", id: expect.any(String), user: uuid } };
	},
	"a member who leaves": async ({ id }) => {
		const { uuid, key: value } = await join(id, 8);
		const path = `/api/organizations/${id}/members/@me`;
		const revoked = { type: "member", id: expect.any(String), user: uuid };
		return { value, path, revoked, by: value };
	},
	"a service account": async (home) => {
		const { id, user_id } = await serviceAccount(home, { level: 8 });
		const path = `/api/organizations/${home.id}/service_accounts/${id}`;
		const value = await keyFor(user_id);
		return { value, path, revoked: { type: "service_account", id, user: id } };
	},
	"a key of a service account": async (home) => {
		const account = await serviceAccount(home, { level: 8 });
		const value = await keyFor(account.user_id);
		const id = await idOf(value);
		const path = `/api/organizations/${home.id}/service_accounts/${account.id}/keys/${id}`;
		return { value, path, revoked: { type: "service_account_key", id, user: null } };
	},
	"a key": async ({ owner }) => {
		const value = await keyFor(owner.id);
		const id = await idOf(value);
		const path = `/api/personal_api_keys/${id}`;
		return { value, path, revoked: { type: "personal_api_key", id, user: null } };
	},
	"a key of a member": async (home) => {
		const { uuid, key: value } = await join(home.id, 8);
		const id = await idOf(value);
		const path = `/api/organizations/${home.id}/members/${uuid}/keys/${id}`;
		return { value, path, revoked: { type: "personal_api_key", id, user: null } };
	},
	"the key in use": async ({ owner }) => {
		const value = await keyFor(owner.id);
		const revoked = { type: "personal_api_key", id: await idOf(value), user: null };
		return { value, path: "/api/personal_api_keys/@current", revoked, by: value };
	},
	"a session": async ({ owner }) => {
		const session = { method: "mail", connection: null, address: null, user_agent: null };
		const value = await keyFor(owner.id, { session, expires_at: LATER });
		const id = await idOf(value);
		return { value, path: `${ME}/sessions/${id}`, revoked: { type: "session", id, user: null } };
	},
	"an app": async ({ owner }) => {
		const { id, value } = await grant(owner.id);
		const path = `${ME}/oauth_grants/${id}`;
		return { value, path, revoked: { type: "oauth_grant", id, user: null } };
	},
	"an app of a member": async (home) => {
		const { id, value } = await grant((await join(home.id, 8)).id);
		const path = `/api/organizations/${home.id}/oauth_grants/${id}`;
		return { value, path, revoked: { type: "oauth_grant", id, user: null } };
	},
};

export const prefer = (preference: string) => ({ headers: { prefer: preference } });

/** Revokes with a receipt, and checks its signature. */
export async function receiptOf({ path, by, revoked }: Subject, { owner, id }: Home) {
	const response = await call("DELETE", path, { key: by ?? owner.key, ...prefer("receipt") });
	expect(response.status).toBe(200);
	expect(response.headers.get("preference-applied")).toBe("receipt");
	const { receipt, ...facts } = response.body;
	const { header, claims } = await checked(receipt, (await published()).set);
	expect(header).toMatchObject({ alg: "EdDSA", typ: "revocation-receipt+jwt" });
	expect(claims).toEqual({
		...facts,
		iss: new URL(env.APP_URL).origin,
		iat: expect.any(Number),
	});
	const isOfOrganization = "user" in revoked && revoked.user !== null;
	expect(facts).toEqual({
		revoked,
		organization_id: isOfOrganization ? id : null,
		entry_id: expect.any(String),
		position: Number.parseInt(facts.entry_id.slice(-12), 16),
	});
	return { response, ...facts };
}

/** How many requests are made in parallel. */
const LANES = 20;

/**
 * Lets a key make requests in parallel, revokes it when some were accepted, and compares what was
 * accepted with the receipt.
 */
export async function race(kind: string, requests: number) {
	const home = await world();
	const { owner, id, project } = home;
	const subject = await KINDS[kind]?.(home);
	if (!subject) throw new Error(`There is no ${kind}.`);
	const newest = sql<number>`max(${activityLog.position})`;
	const [before] = await db.select({ position: newest }).from(activityLog);
	const statuses: number[] = [];
	const accepted = () => statuses.filter((status) => status < 300).length;
	let next = 0;
	const work = async () => {
		while (next < requests || accepted() === statuses.length) {
			next += 1;
			const name = `${next}`;
			const options = {
				key: subject.value,
				env: { ...UNLIMITED, AUTH_FAILURES: UNLIMITED.REQUESTS },
			};
			// The second names the organization in its body.
			const { status } = await (next % 5
				? call("PATCH", `/api/projects/${project}`, { ...options, body: { name } })
				: call("POST", "/api/projects", { ...options, body: { name, organization: id } }));
			statuses.push(status);
		}
	};
	const revoking = (async () => {
		while (accepted() < requests / 4) await new Promise((resolve) => setTimeout(resolve, 1));
		return receiptOf(subject, { ...home, owner });
	})();
	await Promise.all([revoking, ...Array.from({ length: LANES }, work)]);
	const { position, entry_id } = await revoking;
	const log = await db
		.select()
		.from(activityLog)
		.where(
			and(
				sql`${activityLog.position} > ${before?.position ?? 0}`,
				eq(activityLog.scope, "Project"),
				eq(activityLog.organization_id, home.organization_id),
			),
		);
	// Each accepted request has an entry, and all were made before the revocation.
	expect(log).toHaveLength(accepted());
	expect(log.filter((entry) => entry.position > position)).toEqual([]);
	expect(new Set(statuses.filter((status) => status >= 300))).toEqual(
		new Set(statuses.filter((status) => [401, 403, 404, 400].includes(status))),
	);
	return { accepted: accepted(), position, entry_id };
}
