/** Requests of an identity provider to the SCIM endpoint. */
import { env, exports } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { v7 } from "uuid";
import { expect } from "vitest";
import { domains, organizationId } from "../../src/db/schema/organizations.ts";
import { members, users } from "../../src/db/schema/people.ts";
import { eventually } from "./time.ts";
import { db, keyFor, world } from "./world.ts";

type Home = Awaited<ReturnType<typeof world>>;

// biome-ignore lint/suspicious/noExplicitAny: each test knows the form of the body
type Result = { status: number; headers: Headers; body: any };

type Options = { body?: unknown; headers?: Record<string, string>; token?: string | null };

/** Adds a verified domain to the organization. */
export async function verifiedDomain({ id: organization }: Home) {
	const id = v7();
	const domain = `${crypto.randomUUID()}.example.com`;
	await db.insert(domains).values({
		id,
		organization_id: organizationId(organization),
		domain,
		verified_at: new Date().toISOString(),
		verification_challenge: id,
	});
	return { id, domain };
}

/** Sends a request to the SCIM endpoint of a domain. */
export async function send(
	domain_id: string,
	method: string,
	path: string,
	{ body, headers = {}, token }: Options = {},
): Promise<Result> {
	// Failed attempts are limited for each IP address.
	const sent = new Headers({
		"cf-connecting-ip": `2001:db8:${v7().slice(-4)}:${v7().slice(-4)}::1`,
		...headers,
	});
	if (token) sent.set("authorization", `Bearer ${token}`);
	if (body !== undefined && !sent.has("content-type"))
		sent.set("content-type", "application/scim+json");
	const response = await exports.default.fetch(
		new Request(new URL(`/scim/v2/${domain_id}${path}`, "https://tenantry.test"), {
			method,
			headers: sent,
			...(body !== undefined && {
				body: typeof body === "string" ? body : JSON.stringify(body),
			}),
		}),
	);
	const text = await response.text();
	return {
		status: response.status,
		headers: response.headers,
		body: text === "" ? null : JSON.parse(text),
	};
}

/** A tenant with a verified domain, and a provider with a token for it. */
export async function provisioned(home?: Home) {
	const tenant = home ?? (await world());
	const { id: domain_id, domain } = await verifiedDomain(tenant);
	const at = `/domains/${domain_id}/scim`;
	const { body } = await tenant.here("POST", `${at}/tokens`);
	const token: string = body.value;
	const scim = (method: string, path: string, options: Options = {}) =>
		send(domain_id, method, path, { token, ...options });
	const address = (name = v7()) => `${name}@${domain}`;
	/** Adds a user through SCIM. */
	const add = async (userName = address(), more: object = {}) =>
		(await scim("POST", "/Users", { body: { schemas: [USER], userName, ...more } })).body;
	/** Adds a group through SCIM. */
	const group = async (displayName: string, ids: string[] = [], more: object = {}) =>
		(
			await scim("POST", "/Groups", {
				body: { schemas: [GROUP], displayName, members: ids.map((value) => ({ value })), ...more },
			})
		).body;
	const patch = (path: string, ...Operations: object[]) =>
		scim("PATCH", path, { body: { schemas: [PATCH], Operations } });
	/** Makes a member with an address of the domain, without SCIM. Returns their key. */
	const employee = async (level = 1, email = address()) => {
		const [user] = await db.insert(users).values({ email }).returning();
		if (!user) throw new Error("No user was created.");
		await db
			.insert(members)
			.values({ organization_id: organizationId(tenant.id), user_id: user.id, level });
		return { ...user, key: await keyFor(user.id) };
	};
	/** Returns a key of the user with this address. */
	const keyOf = async (email: string) => {
		const [user] = await db.select().from(users).where(eq(users.email, email));
		return keyFor(user?.id ?? 0);
	};
	/** Returns the member with this address, as the API shows it. */
	const member = async (email: string) =>
		(await tenant.here("GET", `/members?email=${email}`)).body.results[0];
	/** Returns what the group grants afterwards. */
	const grant = (id: string, body: object) => tenant.here("PATCH", `${at}/groups/${id}`, { body });
	return {
		...tenant,
		domain_id,
		domain,
		at,
		token,
		scim,
		address,
		add,
		group,
		patch,
		employee,
		keyOf,
		member,
		grant,
	};
}

type Provisioned = Awaited<ReturnType<typeof provisioned>>;

/** Returns what the log says that requests to these paths have ignored. */
export const ignoredAt = ({ here, at }: Pick<Provisioned, "here" | "at">, paths: string[]) =>
	eventually(async () => {
		const { results } = (await here("GET", `${at}/requests?limit=100`)).body;
		return paths.map((path) => {
			const [request] = results.filter((each: { path: string }) => each.path === path);
			expect(request).toBeDefined();
			return request.ignored;
		});
	});

/** Returns the beginnings of texts, as long as those that are expected. */
export const startsOf = (texts: string[], expected: readonly string[]) =>
	texts.toSorted().map((text, i) => text.slice(0, expected[i]?.length));

export const USER = "urn:ietf:params:scim:schemas:core:2.0:User";
export const GROUP = "urn:ietf:params:scim:schemas:core:2.0:Group";
export const PATCH = "urn:ietf:params:scim:api:messages:2.0:PatchOp";
export const ERROR = "urn:ietf:params:scim:api:messages:2.0:Error";

export { env };
