import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { domains } from "../../../src/db/schema/organizations.ts";
import {
	CHALLENGE,
	insertDomain,
	link,
	domainName as name,
	SAML,
	verified_at,
} from "../../support/domains.ts";
import { wrong } from "../../support/errors.ts";
import { withoutPatience } from "../../support/time.ts";
import { call, cost, db, join, racing, world } from "../../support/world.ts";

type Home = Awaited<ReturnType<typeof world>>;

const invalid = (attr: string) => ({ status: 400, body: { code: "invalid_input", attr } });
const taken = wrong("unique", "domain with this domain already exists.", "domain");

const add = ({ here }: Pick<Home, "here">, domain: string, env: Partial<Env> = {}) =>
	here("POST", "/domains", { body: { domain }, env });

test("a domain that an admin adds has a challenge and is not verified; each change is logged", async () => {
	const { here } = await world();
	const domain = name();
	const ignored = { jit_provisioning_enabled: true, sso_enforcement: "nonsense" };
	const { status, body } = await here("POST", "/domains/", { body: { domain, ...ignored } });
	expect(status).toBe(201);
	const { id } = body;
	expect(body).toEqual({
		...{ id: expect.any(String), domain, is_verified: false, verified_at: null },
		verification_challenge: expect.stringMatching(/^[\w-]{43}$/),
		...{ jit_provisioning_enabled: false, jit_provisioning_level: 1, sso_enforcement: "" },
		...{ has_saml: false, saml_entity_id: null, saml_acs_url: null, saml_x509_cert: null },
		...{ saml_idp_initiated: false, has_oidc: false, oidc_issuer: null },
		...{ oidc_client_id: null, oidc_client_secret: null, break_glass: [] },
	});
	expect((await here("GET", `/domains/${id}/`)).body).toEqual(body);
	expect((await here("GET", "/domains/")).body).toMatchObject({ count: 1, results: [body] });
	await here("PATCH", `/domains/${id}`, { body: { saml_entity_id: "e" } });
	await here("DELETE", `/domains/${id}`);
	expect((await here("GET", "/activity_log?scope=Domain")).body.results).toMatchObject(
		["deleted", "updated", "created"].map((activity) => ({ activity, detail: { name: domain } })),
	);
});

test("a name is in lower case and without a dot at its end, as in addresses", async () => {
	const { here } = await world();
	const domain = name();
	const given = ` ${domain.toUpperCase()}. `;
	expect((await add({ here }, given)).body.domain).toBe(domain);
	expect((await add(await world(), given)).body.code).toBe("unique");
	const target_email = `anna@${given.trimStart()}`;
	const invite = await here("POST", "/invites", { body: { target_email } });
	expect(invite.body.target_email).toBe(`anna@${domain}`);
	const found = await here("GET", `/members?email=${encodeURIComponent(target_email)}`);
	expect(found.status).toBe(200);
	expect(await add({ here }, "co.uk")).toMatchObject(
		wrong("invalid_input", "Please enter a valid domain or subdomain name.", "domain"),
	);
});

test("a domain belongs to one organization only, even if requests race", async () => {
	const tenants = [await world(), await world()] as const;
	const domain = name();
	const added = await Promise.all(
		Array.from({ length: 10 }, (_, i) => add(tenants[i % 2 ? 1 : 0], domain)),
	);
	const rejected = added.filter(({ status }) => status !== 201);
	expect(rejected).toHaveLength(9);
	for (const each of rejected) expect(each).toMatchObject(taken);
});

describe("an unverified claim on a name", () => {
	const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();

	/** An old claim on a name of an organization, and another organization. */
	async function claimed(row: Partial<typeof domains.$inferInsert> = {}) {
		const [old, other] = [await world(), await world()];
		const domain = name();
		const id = await insertDomain(old.id, { domain, claimed_at: daysAgo(3), ...row });
		const log = async (query = "") => (await old.here("GET", `/activity_log${query}`)).body;
		const status = async () => (await old.here("GET", `/domains/${id}`)).status;
		return { old, other, domain, id, log, status };
	}

	test("is deleted after three days when another organization adds the name, and its own organization finds a log entry", async () => {
		const { old, other, domain, id, log, status } = await claimed();
		const added = await add(other, domain);
		expect(added).toMatchObject({ status: 201, body: { domain } });
		expect(cost(added).trips).toBe(2);
		expect(added.body.id).not.toBe(id);
		expect(await status()).toBe(404);
		expect((await old.here("GET", "/domains")).body.count).toBe(0);
		expect((await old.here("POST", `/domains/${id}/verify`)).status).toBe(404);
		const detail =
			"The domain was not verified within three days, and another organization has added it.";
		expect((await log("?scope=Domain")).results).toMatchObject([
			{
				...{ activity: "deleted", item_id: id, user: { uuid: old.owner.uuid } },
				detail: { name: domain, trigger: { reason: "claim_lapsed", detail } },
			},
		]);
		expect(JSON.stringify(await log())).not.toContain(other.owner.uuid);
		const ofOther = await other.here("GET", "/activity_log?scope=Domain");
		expect(ofOther.body.results).toMatchObject([{ activity: "created", item_id: added.body.id }]);
		expect((await add(old, domain)).body).toEqual(taken.body);
	});

	test("is also deleted when another organization renames a domain to the name, unless that fails", async () => {
		for (const isVerified of [false, true]) {
			const { other, domain, log, status } = await claimed();
			const id = await insertDomain(other.id);
			const verify = () => db.update(domains).set({ verified_at }).where(eq(domains.id, id));
			const renamed = await other.here("PATCH", `/domains/${id}`, {
				body: { domain },
				...(isVerified && { env: racing(verify) }),
			});
			expect([renamed.status, await status()]).toEqual(isVerified ? [400, 200] : [200, 404]);
			expect((await log("?activity=deleted")).count).toBe(isVerified ? 0 : 1);
		}
	});

	test("gets one log entry if its own organization deletes it while another adds the name", async () => {
		const { old, other, domain, id, log } = await claimed();
		const added = await add(
			other,
			domain,
			racing(() => old.here("DELETE", `/domains/${id}`)),
		);
		expect(added.status).toBe(201);
		expect((await log()).results).toMatchObject([
			{ activity: "deleted", item_id: id, detail: { trigger: null } },
		]);
	});

	test.each([
		["younger than three days", { claimed_at: daysAgo(2.99) }],
		["verified", { claimed_at: daysAgo(30), verified_at }],
	])("stays while it is %s", async (_, row) => {
		const { other, domain, log, status } = await claimed(row);
		expect(await add(other, domain)).toMatchObject(taken);
		expect([await status(), (await log()).count]).toEqual([200, 0]);
	});

	test("stays if its own organization adds the name again, or if it is verified meanwhile", async () => {
		const { old, other, domain, id, log } = await claimed();
		expect(await add(old, domain)).toMatchObject(taken);
		const verify = () => db.update(domains).set({ verified_at }).where(eq(domains.id, id));
		expect(await add(other, domain, racing(verify))).toMatchObject(taken);
		expect((await old.here("GET", `/domains/${id}`)).body.is_verified).toBe(true);
		expect((await log()).count).toBe(0);
	});

	test("starts again after a rename", async () => {
		const { old, other, id } = await claimed();
		const domain = name();
		await old.here("PATCH", `/domains/${id}`, { body: { domain } });
		expect(await add(other, domain)).toMatchObject(taken);
	});

	test("goes to one organization if several add the name at once", async () => {
		const { other, domain, log } = await claimed();
		const others = [other, await world()] as const;
		const added = await Promise.all(
			Array.from({ length: 10 }, (_, i) => add(others[i % 2 ? 1 : 0], domain)),
		);
		expect(added.filter(({ status }) => status === 201)).toHaveLength(1);
		expect((await log("?activity=deleted")).count).toBe(1);
	});
});

test("members read domains, admins change them, and those of others are not found", async () => {
	const { id } = await world();
	const domain = await insertDomain(id);
	const [member, admin, stranger] = [await join(id, 1), await join(id, 8), await world()];
	const requests = [
		["GET", ""],
		["PATCH", "", { body: {} }],
		["PATCH", "", { body: { domain: 7 } }],
		["POST", "/verify"],
		["DELETE", ""],
	] as const;
	for (const [method, below, options] of requests) {
		const path = `/domains/${domain}${below}`;
		const ask = ({ key }: { key: string }) =>
			call(method, `/api/organizations/${id}${path}`, { key, ...options });
		expect((await ask(member)).status).toBe(method === "GET" ? 200 : 403);
		expect((await stranger.here(method, path, options)).status).toBe(404);
		if (method === "DELETE") expect((await ask(admin)).status).toBe(204);
	}
	const body = { domain: name() };
	const added = await call("POST", `/api/organizations/${id}/domains`, { key: member.key, body });
	expect(added.status).toBe(403);
});

test("the list is ordered by name", async () => {
	const { here, id } = await world();
	for (const part of ["b", "c", "a"])
		await insertDomain(id, { domain: `${part}.${id}.example.com` });
	const { body } = await here("GET", "/domains");
	expect(body.results.map(({ domain }: { domain: string }) => domain)).toEqual(
		["a", "b", "c"].map((part) => `${part}.${id}.example.com`),
	);
});

describe("PATCH", () => {
	/** A domain, and functions that change it and read it. */
	async function home(row: Partial<typeof domains.$inferInsert> = {}) {
		const tenant = await world();
		const domain = name();
		const id = await insertDomain(tenant.id, { domain, ...row });
		const patch = (body: object, env: Partial<Env> = {}) =>
			tenant.here("PATCH", `/domains/${id}`, { body, env });
		const shown = async () => (await tenant.here("GET", `/domains/${id}`)).body;
		return { ...tenant, domain, domain_id: id, patch, shown };
	}

	test("rejects settings that need a verified domain, and names jit first", async () => {
		const { patch } = await home();
		const rejection = (attr: string) =>
			wrong(
				"verification_required",
				"This attribute cannot be updated until the domain is verified.",
				attr,
			);
		const both = { sso_enforcement: "github", jit_provisioning_enabled: false };
		expect(await patch(both)).toMatchObject(rejection("jit_provisioning_enabled"));
		expect(await patch({ sso_enforcement: "" })).toMatchObject(rejection("sso_enforcement"));
	});

	test("changes the settings of a verified domain", async () => {
		const { patch, owner, domain } = await home({ verified_at });
		await link(owner.id, "github", `somebody@${domain}`);
		const changed = await patch({ jit_provisioning_enabled: "yes", sso_enforcement: "github" });
		expect(changed.body).toMatchObject({
			...{ is_verified: true, verified_at },
			...{ jit_provisioning_enabled: true, sso_enforcement: "github" },
		});
		expect((await patch({ sso_enforcement: "" })).body.sso_enforcement).toBe("");
	});

	test("breaks no rule if it races with another", async () => {
		const { here, patch, domain_id, domain } = await home();
		const verify = () =>
			db.update(domains).set({ domain: name(), verified_at }).where(eq(domains.id, domain_id));
		const stale = await patch({ domain, saml_entity_id: "q" }, racing(verify));
		expect(stale).toMatchObject({ status: 400, body: { attr: "domain" } });
		await patch(SAML);
		const clear = () => here("PATCH", `/domains/${domain_id}`, { body: { saml_entity_id: null } });
		const enforced = await patch({ sso_enforcement: "saml" }, racing(clear));
		expect(enforced).toMatchObject({ status: 400, body: { attr: "sso_enforcement" } });
	});

	test("enforces SAML only if all its fields are set, in the same request or before, and keeps them set", async () => {
		const { patch, owner, domain, domain_id } = await home({ verified_at });
		await link(owner.id, `saml:${domain_id}`, `somebody@${domain}`);
		const sso_enforcement = "saml";
		const rejection = invalid("sso_enforcement");
		expect(await patch({ sso_enforcement })).toMatchObject(rejection);
		expect(await patch({ ...SAML, saml_acs_url: "", sso_enforcement })).toMatchObject(rejection);
		const enforced = { ...SAML, has_saml: true, sso_enforcement };
		expect((await patch({ ...SAML, sso_enforcement })).body).toMatchObject(enforced);
		expect(await patch({ saml_x509_cert: null })).toMatchObject(rejection);
		expect((await patch({ saml_x509_cert: null, sso_enforcement: "" })).body).toMatchObject({
			has_saml: false,
			saml_x509_cert: null,
		});
	});

	test("renames an unverified domain, with a new challenge, but no verified one", async () => {
		const [open, closed] = [await home(), await home({ verified_at })];
		const before = await open.shown();
		const after = (await open.patch({ domain: name() })).body;
		expect(after.domain).not.toBe(before.domain);
		expect(after.verification_challenge).not.toBe(before.verification_challenge);
		expect((await open.patch({ domain: after.domain })).body).toEqual(after);
		expect(await open.patch({ domain: closed.domain })).toMatchObject(taken);
		expect(await closed.patch({ domain: name() })).toMatchObject(invalid("domain"));
		const same = await closed.shown();
		const loud = { domain: `${closed.domain.toUpperCase()}.` };
		expect((await closed.patch(loud)).body).toEqual(same);
	});
});

describe("verification", () => {
	const verify = async (domain: string, env: Partial<Env> = {}) => {
		const { here, id } = await world();
		const domain_id = await insertDomain(id, { domain });
		const send = () => here("POST", `/domains/${domain_id}/verify/`, { env });
		const answer = await send();
		const log = (await here("GET", "/activity_log?activity=verified")).body.count;
		const again = await send();
		await db.delete(domains).where(eq(domains.id, domain_id));
		return { answer, again, log };
	};
	const verified_now = expect.stringMatching(/Z$/);
	const verified = {
		status: 200,
		body: { is_verified: true, verified_at: verified_now, verification_error: null },
	};
	const notVerified = (verification_error: unknown) => ({
		status: 200,
		body: { is_verified: false, verified_at: null, verification_error },
	});

	test.each(["right", "several", "split", "quoted", "spaced"])(
		"succeeds if the challenge is found: %s",
		async (label) => {
			const { answer, again, log } = await verify(`${label}.example.test`);
			expect(answer).toMatchObject(verified);
			expect(cost(answer).trips).toBe(2);
			expect(log).toBe(1);
			expect(again).toMatchObject(
				wrong("already_verified", "This domain has already been verified.", null),
			);
		},
	);

	test("fails if the challenge is replaced during the look-up", async () => {
		const { here, id } = await world();
		const domain_id = await insertDomain(id, { domain: "right.example.test" });
		const replace = () =>
			db
				.update(domains)
				.set({ verification_challenge: "another" })
				.where(eq(domains.id, domain_id));
		const answer = await here("POST", `/domains/${domain_id}/verify`, { env: racing(replace) });
		expect(answer).toMatchObject(notVerified(expect.stringContaining("is the challenge.")));
		expect((await here("GET", "/activity_log?activity=verified")).body.count).toBe(0);
		await db.delete(domains).where(eq(domains.id, domain_id));
	});

	test("returns 404 if another organization takes over the domain during the lookup", async () => {
		const [old, other] = [await world(), await world()];
		const domain = "right.example.test";
		const domain_id = await insertDomain(old.id, { domain, claimed_at: "2026-01-01" });
		const env = racing(() => add(other, domain));
		expect((await old.here("POST", `/domains/${domain_id}/verify`, { env })).status).toBe(404);
		const [row] = (await other.here("GET", "/domains")).body.results;
		expect(row).toMatchObject({ domain, is_verified: false });
		await other.here("DELETE", `/domains/${row.id}`);
	});

	test.each([
		[
			"wrong",
			'No TXT record at _tenantry-challenge.wrong.example.test is the challenge. Found: "something else".',
		],
		[
			"part",
			`No TXT record at _tenantry-challenge.part.example.test is the challenge. Found: "x${CHALLENGE}".`,
		],
		["nodata", "There is no TXT record at _tenantry-challenge.nodata.example.test."],
		["missing", "There is no TXT record at _tenantry-challenge.missing.example.test."],
		[
			"a.servfail",
			"The resolver answered SERVFAIL for _tenantry-challenge.a.servfail.example.test.",
		],
	])("fails with the record that was found instead: %s", async (label, error) => {
		const { answer, again, log } = await verify(`${label}.example.test`);
		expect(answer).toMatchObject(notVerified(error));
		expect([cost(answer).trips, cost(answer).written, log]).toEqual([1, 0, 0]);
		expect(again).toMatchObject(notVerified(error));
	});

	test("reports a resolver that rejects the query, doesn't answer or can't be reached", async () => {
		expect((await verify("elsewhere.example.com")).answer).toMatchObject(
			notVerified("The resolver answered REFUSED for _tenantry-challenge.elsewhere.example.com."),
		);
		const { answer } = await withoutPatience(() =>
			verify("right.example.test", { DOH_URL: env.DOH_SILENT }),
		);
		expect(answer).toMatchObject(notVerified("The resolver did not answer within 3 seconds."));
		expect((await verify("right.example.test", { DOH_URL: env.DOH_NOBODY })).answer).toMatchObject(
			notVerified(expect.stringMatching(/^The resolver /)),
		);
	});

	test("happens once if requests race", async () => {
		const { here, id } = await world();
		const domain_id = await insertDomain(id, { domain: "right.example.test" });
		const answers = await Promise.all(
			Array.from({ length: 10 }, () => here("POST", `/domains/${domain_id}/verify`)),
		);
		for (const { status, body } of answers)
			expect([200, "already_verified"]).toContain(body.code ?? status);
		expect((await here("GET", "/activity_log?activity=verified")).body.count).toBe(1);
		await db.delete(domains).where(eq(domains.id, domain_id));
	});
});
