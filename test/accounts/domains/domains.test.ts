import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { organizationId } from "../../../src/db/organization_ids.ts";
import { domains } from "../../../src/db/schema/domains.ts";
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
import { call, cost, db, join, racing, times, world } from "../../support/world.ts";

test("a domain that an admin adds has a challenge and is not verified", async () => {
	const { here } = await world();
	const domain = name();
	const { status, body } = await here("POST", "/domains/", {
		body: {
			domain,
			jit_provisioning_enabled: true,
			sso_enforcement: "nonsense",
		},
	});
	expect(status).toBe(201);
	expect(body).toEqual({
		id: expect.any(String),
		domain,
		is_verified: false,
		verified_at: null,
		verification_challenge: expect.stringMatching(/^[\w-]{43}$/),
		jit_provisioning_enabled: false,
		sso_enforcement: "",
		has_saml: false,
		saml_entity_id: null,
		saml_acs_url: null,
		saml_x509_cert: null,
		saml_idp_initiated: false,
		jit_provisioning_level: 1,
		has_oidc: false,
		oidc_issuer: null,
		oidc_client_id: null,
		oidc_client_secret: null,
		break_glass: [],
	});
	expect((await here("GET", `/domains/${body.id}/`)).body).toEqual(body);
	expect((await here("GET", "/domains/")).body).toMatchObject({
		count: 1,
		results: [body],
	});
});

test.each([
	["example.com"],
	["a.b.example.co.uk"],
	["x1.example"],
	["xn--bcher-kva.example"],
	["xn--e1afmkfd.xn--p1ai"],
	["q.xn--vermgensberatung-pwb"],
	[`${"a".repeat(63)}.example.com`],
	["EXAMPLE.net", "example.net"],
	[" example.org. ", "example.org"],
	["Q.XN--P1AI.", "q.xn--p1ai"],
])("%j is accepted as a domain, and in addresses", async (given, domain = given) => {
	const { here } = await world();
	expect(await here("POST", "/domains", { body: { domain: given } })).toMatchObject({
		status: 201,
		body: { domain },
	});
	const again = await (await world()).here("POST", "/domains", { body: { domain: given } });
	expect(again.body.code).toBe("unique");
	const target_email = `anna@${given.trimStart()}`;
	expect(await here("POST", "/invites", { body: { target_email } })).toMatchObject({
		status: 201,
		body: { target_email: `anna@${domain}` },
	});
	const found = await here("GET", `/members?email=${encodeURIComponent(target_email)}`);
	expect(found.status).toBe(200);
});

test.each([
	"example",
	"example.c",
	"exa_mple.com",
	"-a.example.com",
	"a-.example.com",
	"a..example.com",
	".example.com",
	"example.com..",
	"example.123",
	"example.p1ai",
	"example.xn--",
	"пример.рф",
	"example。com",
	"https://example.com",
	"a b.com",
	"bücher.example",
	"co.uk",
	"github.io",
	`${"a".repeat(64)}.com`,
	"xn--.xn--",
])("%j is rejected as a domain", async (domain) => {
	const { here } = await world();
	expect(await here("POST", "/domains", { body: { domain } })).toMatchObject(
		wrong("invalid_input", "Please enter a valid domain or subdomain name.", "domain"),
	);
});

test("the name is required, and lengths are limited", async () => {
	const { here } = await world();
	expect(await here("POST", "/domains", { body: {} })).toMatchObject(
		wrong("required", "This field is required.", "domain"),
	);
	expect((await here("POST", "/domains", { body: { domain: " " } })).body).toMatchObject({
		code: "blank",
		attr: "domain",
	});
	const long = `${"a.".repeat(70)}example.com`;
	expect((await here("POST", "/domains", { body: { domain: long } })).body).toMatchObject({
		code: "max_length",
		attr: "domain",
	});
	expect(
		(
			await here("POST", "/domains", {
				body: { domain: name(), saml_entity_id: "x".repeat(513) },
			})
		).body,
	).toMatchObject({ code: "max_length", attr: "saml_entity_id" });
});

test("a domain belongs to one organization only, even if 20 requests race", async () => {
	const [one, two] = [await world(), await world()];
	const domain = name();
	const responses = await Promise.all(
		Array.from({ length: 20 }, (_, i) =>
			(i % 2 ? one : two).here("POST", "/domains", { body: { domain } }),
		),
	);
	expect(responses.filter(({ status }) => status === 201)).toHaveLength(1);
	for (const answer of responses)
		if (answer.status !== 201)
			expect(answer).toMatchObject(
				wrong("unique", "domain with this domain already exists.", "domain"),
			);
	const counts = [await one.here("GET", "/domains"), await two.here("GET", "/domains")].map(
		({ body }) => body.count,
	);
	expect(counts.toSorted()).toEqual([0, 1]);
});

describe("an unverified claim on a name", () => {
	const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();
	const taken = wrong("unique", "domain with this domain already exists.", "domain");

	test("is deleted after three days when another organization adds the name, and its own organization finds a log entry", async () => {
		const [old, other] = [await world(), await world()];
		const domain = name();
		const id = await insertDomain(old.id, { domain, claimed_at: daysAgo(3) });
		const added = await other.here("POST", "/domains", { body: { domain } });
		expect(added).toMatchObject({ status: 201, body: { domain } });
		expect(cost(added).trips).toBe(2);
		expect(added.body.id).not.toBe(id);
		expect((await old.here("GET", `/domains/${id}`)).status).toBe(404);
		expect((await old.here("GET", "/domains")).body.count).toBe(0);
		expect((await old.here("POST", `/domains/${id}/verify`)).status).toBe(404);
		const log = "/activity_log?scope=Domain";
		expect((await old.here("GET", log)).body.results).toMatchObject([
			{
				activity: "deleted",
				item_id: id,
				user: { uuid: old.owner.uuid },
				detail: {
					name: domain,
					trigger: {
						reason: "claim_lapsed",
						detail:
							"The domain was not verified within three days, and another organization has added it.",
					},
				},
			},
		]);
		expect(JSON.stringify((await old.here("GET", log)).body)).not.toContain(other.owner.uuid);
		expect((await other.here("GET", log)).body.results).toMatchObject([
			{ activity: "created", item_id: added.body.id },
		]);
		expect((await old.here("POST", "/domains", { body: { domain } })).body).toEqual(taken.body);
	});

	test("is also deleted when another organization renames a domain to the name", async () => {
		const [old, other] = [await world(), await world()];
		const domain = name();
		const lapsed = await insertDomain(old.id, { domain, claimed_at: daysAgo(3) });
		const id = await insertDomain(other.id);
		expect(await other.here("PATCH", `/domains/${id}`, { body: { domain } })).toMatchObject({
			status: 200,
			body: { id, domain },
		});
		expect((await old.here("GET", `/domains/${lapsed}`)).status).toBe(404);
		expect((await old.here("GET", "/activity_log?activity=deleted")).body.count).toBe(1);
	});

	test("stays if the rename that would delete it fails", async () => {
		const [old, other] = [await world(), await world()];
		const domain = name();
		const lapsed = await insertDomain(old.id, { domain, claimed_at: daysAgo(3) });
		const id = await insertDomain(other.id);
		const verified = () => db.update(domains).set({ verified_at }).where(eq(domains.id, id));
		expect(
			await other.here("PATCH", `/domains/${id}`, {
				body: { domain },
				env: racing(async () => verified()),
			}),
		).toMatchObject({ status: 400, body: { attr: "domain" } });
		expect((await old.here("GET", `/domains/${lapsed}`)).status).toBe(200);
		expect((await old.here("GET", "/activity_log")).body.count).toBe(0);
	});

	test("gets one log entry if its own organization deletes it while another adds the name", async () => {
		const [old, other] = [await world(), await world()];
		const domain = name();
		const id = await insertDomain(old.id, { domain, claimed_at: daysAgo(3) });
		const added = await other.here("POST", "/domains", {
			body: { domain },
			env: racing(() => old.here("DELETE", `/domains/${id}`)),
		});
		expect(added.status).toBe(201);
		expect((await old.here("GET", "/activity_log")).body.results).toMatchObject([
			{ activity: "deleted", item_id: id, detail: { trigger: null } },
		]);
	});

	test.each([
		["younger than three days", { claimed_at: daysAgo(2.99) }],
		["verified", { claimed_at: daysAgo(30), verified_at }],
	])("stays while it is %s", async (_, row) => {
		const [old, other] = [await world(), await world()];
		const domain = name();
		const id = await insertDomain(old.id, { domain, ...row });
		expect(await other.here("POST", "/domains", { body: { domain } })).toMatchObject(taken);
		expect((await old.here("GET", `/domains/${id}`)).status).toBe(200);
		expect((await old.here("GET", "/activity_log")).body.count).toBe(0);
	});

	test("stays if its own organization adds the name again", async () => {
		const { here, id } = await world();
		const domain = name();
		await insertDomain(id, { domain, claimed_at: daysAgo(3) });
		expect(await here("POST", "/domains", { body: { domain } })).toMatchObject(taken);
		expect((await here("GET", "/domains")).body.count).toBe(1);
	});

	test("starts again after a rename", async () => {
		const [old, other] = [await world(), await world()];
		const id = await insertDomain(old.id, { claimed_at: daysAgo(3) });
		const domain = name();
		await old.here("PATCH", `/domains/${id}`, { body: { domain } });
		expect(await other.here("POST", "/domains", { body: { domain } })).toMatchObject(taken);
	});

	test("stays if it is verified while another organization adds the name", async () => {
		const [old, other] = [await world(), await world()];
		const domain = name();
		const id = await insertDomain(old.id, { domain, claimed_at: daysAgo(3) });
		const verify = () => db.update(domains).set({ verified_at }).where(eq(domains.id, id));
		expect(
			await other.here("POST", "/domains", {
				body: { domain },
				env: racing(async () => verify()),
			}),
		).toMatchObject(taken);
		expect((await old.here("GET", `/domains/${id}`)).body.is_verified).toBe(true);
		expect((await old.here("GET", "/activity_log")).body.count).toBe(0);
	});

	test("goes to one organization if several add the name at once", async () => {
		const old = await world();
		const others = [await world(), await world()];
		const domain = name();
		await insertDomain(old.id, { domain, claimed_at: daysAgo(3) });
		const added = await Promise.all(
			Array.from({ length: 20 }, (_, i) =>
				others[i % 2]?.here("POST", "/domains", { body: { domain } }),
			),
		);
		expect(added.filter((answer) => answer?.status === 201)).toHaveLength(1);
		expect((await old.here("GET", "/activity_log?activity=deleted")).body.count).toBe(1);
	});
});

test("members may read; only admins may write", async () => {
	const { id, here } = await world();
	const path = `/api/organizations/${id}/domains`;
	const domain = await insertDomain(id);
	const { key } = await join(id, 1);
	expect((await call("GET", path, { key })).status).toBe(200);
	expect((await call("GET", `${path}/${domain}`, { key })).status).toBe(200);
	const insufficient = {
		status: 403,
		body: { detail: "Your organization access level is insufficient." },
	};
	for (const [method, below, body] of [
		["POST", "", { domain: name() }],
		["PATCH", `/${domain}`, {}],
		["PATCH", `/${domain}`, { domain: 7 }],
		["DELETE", `/${domain}`],
		["POST", `/${domain}/verify`],
	] as const)
		expect(await call(method, `${path}${below}`, { key, ...(body && { body }) })).toMatchObject(
			insufficient,
		);
	const admin = await join(id, 8);
	expect((await call("DELETE", `${path}/${domain}`, { key: admin.key })).status).toBe(204);
	expect((await here("GET", "/domains")).body.count).toBe(0);
});

test("a stranger’s domain is not found", async () => {
	const { here } = await world();
	const id = await insertDomain((await world()).id);
	for (const [method, below] of [
		["GET", ""],
		["PATCH", ""],
		["DELETE", ""],
		["POST", "/verify"],
	] as const)
		expect(
			await here(
				method,
				`/domains/${id}${below}`,
				method === "PATCH" ? { body: { domain: 7 } } : {},
			),
		).toMatchObject({ status: 404, body: { detail: "Not found." } });
});

test("the list is ordered by name, and a page costs one round trip", async () => {
	const { here, id } = await world();
	await times(150, (i) =>
		db.insert(domains).values({
			organization_id: organizationId(id),
			domain: `d${(i * 37) % 150}.${id}.example.com`,
			verification_challenge: CHALLENGE,
		}),
	);
	const first = await here("GET", "/domains");
	const second = await call("GET", first.body.next, {
		key: (await join(id, 1)).key,
	});
	const names = [...first.body.results, ...second.body.results].map(
		({ domain }: { domain: string }) => domain,
	);
	expect(names).toHaveLength(150);
	expect(names).toEqual(names.toSorted());
	expect(cost(first).trips).toBe(1);
});

describe("PATCH", () => {
	test("rejects settings that need a verified domain, and names jit first", async () => {
		const { here, id } = await world();
		const path = `/domains/${await insertDomain(id)}`;
		const rejection = (attr: string) =>
			wrong(
				"verification_required",
				"This attribute cannot be updated until the domain is verified.",
				attr,
			);
		expect(
			await here("PATCH", path, {
				body: { sso_enforcement: "github", jit_provisioning_enabled: false },
			}),
		).toMatchObject(rejection("jit_provisioning_enabled"));
		expect(await here("PATCH", path, { body: { sso_enforcement: "" } })).toMatchObject(
			rejection("sso_enforcement"),
		);
		expect(
			(await here("PATCH", path, { body: { sso_enforcement: "nonsense" } })).body,
		).toMatchObject({
			code: "invalid_choice",
			detail: '"nonsense" is not a valid choice.',
		});
	});

	test("changes the settings of a verified domain", async () => {
		const { here, id, owner } = await world();
		const domain = name();
		const path = `/domains/${await insertDomain(id, { verified_at, domain })}`;
		await link(owner.id, "github", `somebody@${domain}`);
		expect(
			(
				await here("PATCH", path, {
					body: { jit_provisioning_enabled: "yes", sso_enforcement: "github" },
				})
			).body,
		).toMatchObject({
			is_verified: true,
			verified_at,
			jit_provisioning_enabled: true,
			sso_enforcement: "github",
		});
		expect(
			(await here("PATCH", path, { body: { sso_enforcement: "" } })).body.sso_enforcement,
		).toBe("");
	});

	test("breaks no rule if it races with another", async () => {
		const { here, id } = await world();
		const enforced = await insertDomain(id, { verified_at, ...SAML });
		const clear = () => here("PATCH", `/domains/${enforced}`, { body: { saml_entity_id: null } });
		const enforce = await here("PATCH", `/domains/${enforced}`, {
			body: { sso_enforcement: "saml" },
			env: racing(clear),
		});
		expect(enforce).toMatchObject({
			status: 400,
			body: { attr: "sso_enforcement" },
		});
		const renamed = await insertDomain(id);
		const before = (await here("GET", `/domains/${renamed}`)).body;
		const verified = () =>
			db.update(domains).set({ domain: name(), verified_at }).where(eq(domains.id, renamed));
		const stale = await here("PATCH", `/domains/${renamed}`, {
			body: { domain: before.domain, saml_entity_id: "q" },
			env: racing(async () => verified()),
		});
		expect(stale).toMatchObject({ status: 400, body: { attr: "domain" } });
	});

	test("enforces SAML only if all its fields are set, in the same request or before, and keeps them set", async () => {
		const { here, id, owner } = await world();
		const domain = name();
		const domain_id = await insertDomain(id, { verified_at, domain });
		const path = `/domains/${domain_id}`;
		await link(owner.id, `saml:${domain_id}`, `somebody@${domain}`);
		const rejection = {
			status: 400,
			body: { code: "invalid_input", attr: "sso_enforcement" },
		};
		expect(await here("PATCH", path, { body: { sso_enforcement: "saml" } })).toMatchObject(
			rejection,
		);
		expect(
			await here("PATCH", path, {
				body: { ...SAML, saml_acs_url: "", sso_enforcement: "saml" },
			}),
		).toMatchObject(rejection);
		expect(
			(
				await here("PATCH", path, {
					body: { ...SAML, sso_enforcement: "saml" },
				})
			).body,
		).toMatchObject({ ...SAML, has_saml: true, sso_enforcement: "saml" });
		expect(await here("PATCH", path, { body: { saml_x509_cert: null } })).toMatchObject(rejection);
		expect(
			(
				await here("PATCH", path, {
					body: { saml_x509_cert: null, sso_enforcement: "" },
				})
			).body,
		).toMatchObject({ has_saml: false, saml_x509_cert: null });
	});

	test("renames an unverified domain, with a new challenge, but no verified one", async () => {
		const { here, id } = await world();
		const [open, closed] = [await insertDomain(id), await insertDomain(id, { verified_at })];
		const before = (await here("GET", `/domains/${open}`)).body;
		const after = (await here("PATCH", `/domains/${open}`, { body: { domain: name() } })).body;
		expect(after.domain).not.toBe(before.domain);
		expect(after.verification_challenge).not.toBe(before.verification_challenge);
		expect(
			(
				await here("PATCH", `/domains/${open}`, {
					body: { domain: after.domain },
				})
			).body,
		).toEqual(after);
		expect(
			await here("PATCH", `/domains/${closed}`, {
				body: { domain: after.domain },
			}),
		).toMatchObject({
			status: 400,
			body: { code: "invalid_input", attr: "domain" },
		});
		const same = (await here("GET", `/domains/${closed}`)).body;
		expect(
			(
				await here("PATCH", `/domains/${closed}`, {
					body: { domain: `${same.domain.toUpperCase()}.` },
				})
			).body,
		).toEqual(same);
		expect(
			await here("PATCH", `/domains/${open}`, {
				body: { domain: same.domain },
			}),
		).toMatchObject(wrong("unique", "domain with this domain already exists.", "domain"));
	});
});

test("creating, changing and deleting a domain is logged", async () => {
	const { here } = await world();
	const { body } = await here("POST", "/domains", { body: { domain: name() } });
	await here("PATCH", `/domains/${body.id}`, { body: { saml_entity_id: "e" } });
	await here("DELETE", `/domains/${body.id}`);
	const log = (await here("GET", "/activity_log?scope=Domain")).body.results;
	expect(
		log.map(({ activity, detail }: { activity: string; detail: { name: string } }) => [
			activity,
			detail.name,
		]),
	).toEqual([
		["deleted", body.domain],
		["updated", body.domain],
		["created", body.domain],
	]);
});

describe("verification", () => {
	const verify = async (domain: string, variables?: Partial<Env>) => {
		const { here, id, ask } = await world();
		const domain_id = await insertDomain(id, { domain });
		const answer = await here(
			"POST",
			`/domains/${domain_id}/verify/`,
			variables ? { env: variables } : {},
		);
		const log = (await ask("GET", `/api/organizations/${id}/activity_log?activity=verified`)).body
			.count;
		const again = await here(
			"POST",
			`/domains/${domain_id}/verify/`,
			variables ? { env: variables } : {},
		);
		await db.delete(domains).where(eq(domains.id, domain_id));
		return { answer, again, log };
	};
	const verified = {
		status: 200,
		body: {
			is_verified: true,
			verified_at: expect.stringMatching(/Z$/),
			verification_error: null,
		},
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
		expect(
			await here("POST", `/domains/${domain_id}/verify`, {
				env: racing(async () => replace()),
			}),
		).toMatchObject(notVerified(expect.stringContaining("is the challenge.")));
		expect((await here("GET", "/activity_log?activity=verified")).body.count).toBe(0);
		await db.delete(domains).where(eq(domains.id, domain_id));
	});

	test("returns 404 if another organization takes over the domain during the lookup", async () => {
		const [old, other] = [await world(), await world()];
		const domain = "right.example.test";
		const domain_id = await insertDomain(old.id, { domain, claimed_at: "2026-01-01" });
		const add = () => other.here("POST", "/domains", { body: { domain } });
		expect(
			(
				await old.here("POST", `/domains/${domain_id}/verify`, {
					env: racing(add),
				})
			).status,
		).toBe(404);
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

	test("happens once if 20 requests race", async () => {
		const { here, id } = await world();
		const domain_id = await insertDomain(id, { domain: "right.example.test" });
		const answers = await Promise.all(
			Array.from({ length: 20 }, () => here("POST", `/domains/${domain_id}/verify`)),
		);
		for (const { status, body } of answers)
			expect([status, body.is_verified ?? body.code]).toEqual(
				status === 200 ? [200, true] : [400, "already_verified"],
			);
		expect((await here("GET", "/activity_log?activity=verified")).body.count).toBe(1);
		await db.delete(domains).where(eq(domains.id, domain_id));
	});
});
