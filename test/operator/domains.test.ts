import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { domains } from "../../src/db/schema/organizations.ts";
import { run } from "../../src/operator/run.ts";
import {
	domainName,
	insertDomain,
	moveTo,
	SAML,
	sessionOf,
	verified_at,
} from "../support/domains.ts";
import { call, db, world } from "../support/world.ts";

async function home(row: Partial<typeof domains.$inferInsert> = {}) {
	const tenant = await world();
	const domain = domainName();
	const id = await insertDomain(tenant.id, { domain, verified_at, ...row });
	const read = async () => (await tenant.here("GET", `/domains/${id}`)).body;
	const log = async () => (await tenant.here("GET", "/activity_log?scope=Domain")).body.results;
	return { ...tenant, domain, domain_id: id, read, log };
}

/** The entry of the activity log about what the operator did to a domain. */
const entry = (
	{ domain, domain_id }: Awaited<ReturnType<typeof home>>,
	activity: string,
	detail: object = {},
) => ({
	activity,
	item_id: domain_id,
	user: null,
	detail: { name: domain, trigger: { job: "operator" }, ...detail },
});

const changeOf = (before: string, after: string) => ({
	changes: [{ field: "sso_enforcement", before, after }],
});

test("the operator enforces single sign-on that nobody has tested, and other sessions end", async () => {
	const tenant = await home(SAML);
	const { owner, domain, domain_id, read, log } = tenant;
	await moveTo(owner, domain);
	const sessions = [
		await sessionOf(owner.id),
		await sessionOf(owner.id, { method: "saml", connection: `saml:${domain_id}` }),
	];
	const enforced = { domain, sso_enforcement: "saml" };
	for (let i = 0; i < 2; i++)
		expect(await run(env, "domain enforce", { domain, sso: "saml" })).toEqual({
			result: enforced,
		});
	expect(await read()).toMatchObject(enforced);
	const statuses = sessions.map(
		async (key) => (await call("GET", "/api/users/@me", { key })).status,
	);
	expect(await Promise.all(statuses)).toEqual([401, 200]);
	expect(await log()).toMatchObject([entry(tenant, "updated", changeOf("", "saml"))]);
});

test("the operator can't enforce what can't work", async () => {
	const { domain, domain_id, log } = await home();
	for (const [options, error] of [
		[
			{ domain, sso: "saml" },
			"SAML cannot be enforced without its entity id, sign-in URL and certificate.",
		],
		[
			{ domain, sso: "oidc" },
			"OpenID Connect cannot be enforced without its issuer, client id and client secret.",
		],
		[{ domain: `no.${domain}`, sso: "github" }, "There is no domain with this name."],
		[{ domain, sso: "" }, 'sso: "" is not a valid choice.'],
	] as const)
		expect(await run(env, "domain enforce", options)).toEqual({ error });
	await db.update(domains).set({ verified_at: null }).where(eq(domains.id, domain_id));
	expect(await run(env, "domain enforce", { domain, sso: "github" })).toEqual({
		error: "The domain isn't verified.",
	});
	expect(await log()).toEqual([]);
});

test("the operator lifts the enforcement of a domain, which its organization sees", async () => {
	const tenant = await home({ ...SAML, sso_enforcement: "saml" });
	const { domain, read, log } = tenant;
	for (let i = 0; i < 2; i++)
		expect(await run(env, "domain lift-enforcement", { domain })).toEqual({
			result: { domain, sso_enforcement: "" },
		});
	expect(await read()).toMatchObject({ ...SAML, sso_enforcement: "" });
	expect(await log()).toMatchObject([entry(tenant, "enforcement_lifted", changeOf("saml", ""))]);
	expect(await run(env, "domain lift-enforcement", { domain: `no.${domain}` })).toEqual({
		error: "There is no domain with this name.",
	});
});

test("the operator verifies a domain without its record, which its organization sees", async () => {
	const tenant = await home({ verified_at: null });
	const { domain, read, log } = tenant;
	expect(await read()).toMatchObject({ is_verified: false });
	for (const given of [domain, `${domain.toUpperCase()}.`])
		expect(await run(env, "domain verify", { domain: given })).toEqual({
			result: { domain, is_verified: true },
		});
	expect(await read()).toMatchObject({ is_verified: true });
	expect(await log()).toMatchObject([entry(tenant, "verified")]);
	expect(await run(env, "domain verify", { domain: `no.${domain}` })).toEqual({
		error: "There is no domain with this name.",
	});
});
