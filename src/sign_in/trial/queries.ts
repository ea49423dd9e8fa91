import { and, eq, gt, isNotNull, sql } from "drizzle-orm";
import type * as z from "zod";
import type { Tenant } from "../../access/tenant.ts";
import { retry } from "../../access/unit_of_work.ts";
import { assertExists } from "../../db/client.ts";
import { domains } from "../../db/schema/organizations.ts";
import { users } from "../../db/schema/people.ts";
import { identities, signInStates } from "../../db/schema/sign_in.ts";
import { invalid, orNotFound } from "../../http/errors.ts";
import { digest, newToken } from "../../keys/keys.ts";
import { iso, now } from "../../lib/time.ts";
import { testResult } from "../../outbound/steps.ts";
import { connectionOf, domainOf, pathOf } from "../../people/connections.ts";
import { identityLinked, mailCaller } from "../../people/users/mails.ts";
import { linkedSubject } from "../provider/find.ts";
import type { Problem } from "../provider/problems.ts";
import type { Verified } from "../provider/shape.ts";
import { identityOf } from "../provider/sign_in.ts";
import { STATE_MS } from "../provider/state.ts";
import { type plan as Plan, type SignInTestResult, Tested } from "./shape.ts";

const byId = ({ organization }: Tenant, id: string) =>
	and(eq(domains.organization_id, organization), eq(domains.id, id.toLowerCase()));

const select = (tenant: Tenant, id: string) =>
	tenant.db
		.select({ id: domains.id, domain: domains.domain, verified_at: domains.verified_at })
		.from(domains)
		.where(byId(tenant, id));

type Domain = Awaited<ReturnType<typeof select>>[number];

export const find = (tenant: Tenant, id: string) => tenant.find(select(tenant, id));

/** Plans a test, and returns the path where the admin's browser starts it. */
export const plan = (tenant: Tenant, id: string, { method }: z.infer<typeof Plan>) =>
	retry(async () => {
		const domain = await find(tenant, id);
		if (domain.verified_at === null)
			throw invalid(null, "Verify the domain first.", "verification_required");
		const token = newToken();
		const connection = connectionOf(domain.id, method);
		const data = {
			user_id: tenant.key.user_id,
			domain_id: domain.id,
			organization: tenant.caller.organization_uuid,
			connection,
		};
		const expires_at = iso(Date.now() + STATE_MS);
		const row = { hash: await digest(token), kind: "test", data, expires_at };
		await tenant.write({
			checks: [assertExists(tenant.db, domains, byId(tenant, id))],
			changes: [tenant.db.insert(signInStates).values(row)],
			// The test uses the domain's secrets.
			entries: [
				{
					...{ activity: "tested", scope: "Domain", item_id: domain.id, name: domain.domain },
					trigger: { connection },
				},
			],
		});
		return `${pathOf(connection)}/start?test=${token}`;
	});

/** The possible problems, in the order in which they are checked. */
const CHECKS: Problem[] = [
	"not_configured",
	"provider_unavailable",
	"provider_denied",
	"invalid_response",
	"email_missing",
	"email_not_verified",
	"wrong_domain",
	"linked_to_another",
];

type Failure = { name: Problem; error: string };

/**
 * Returns the checks up to the first one that failed. Other problems, such as a test that took too
 * long, say nothing about the checks.
 */
function stepsOf(failure: Failure | undefined) {
	const passed = failure ? Math.max(CHECKS.indexOf(failure.name), 0) : CHECKS.length;
	const steps = CHECKS.slice(0, passed).map((name) => ({ name, error: null }));
	return failure ? [...steps, failure] : steps;
}

const CONNECTION = sql`(${signInStates.data} ->> '$.who.connection')`;
const LINKED = linkedSubject(CONNECTION, sql`(${signInStates.data} ->> '$.who.subject')`);

/** Selects the stored result, the caller, and the user of the account at the provider. */
const selectTested = ({ db, key }: Tenant, hash: string) =>
	db
		.select({
			data: signInStates.data,
			email: users.email,
			linked_to: sql<number | null>`(select ${identities.user_id} from ${identities}
				where ${identities.connection} = ${CONNECTION} and ${identities.subject} = ${LINKED})`.as(
				"linked_to",
			),
			has_other: sql`exists (select 1 from ${identities} where ${identities.user_id} = ${users.id}
				and ${identities.connection} = ${CONNECTION} and ${identities.subject} is not ${LINKED})`
				.mapWith(Boolean)
				.as("has_other"),
		})
		.from(signInStates)
		.innerJoin(users, eq(users.id, key.user_id))
		.where(
			and(
				eq(signInStates.hash, hash),
				eq(signInStates.kind, "tested"),
				gt(signInStates.expires_at, now()),
			),
		);

type Row = Awaited<ReturnType<typeof selectTested>>[number];

/** Returns the first problem of a verified account; undefined if there is none. */
function failureOf(
	{ who, row, domain }: { who: Verified; row: Row; domain: Domain },
	user_id: number,
): Failure | undefined {
	const { email } = who;
	if (!who.is_email_verified)
		return { name: "email_not_verified", error: `The provider hasn't verified ${email}.` };
	if (domain.verified_at === null || domainOf(email) !== domain.domain)
		return { name: "wrong_domain", error: `${email} isn't an address of ${domain.domain}.` };
	if (row.has_other || (row.linked_to !== null && row.linked_to !== user_id))
		return {
			name: "linked_to_another",
			error: `The account ${email} is linked to another account, here or at the provider. Unlink that one first: yours under Account, that of another member under Members.`,
		};
	return undefined;
}

/**
 * Returns the result of a test that the caller started. If the account has the caller's address,
 * links it, so that the domain can enforce the connection.
 * @throws 400 if the token is of no test of the caller
 */
export const complete = (
	tenant: Tenant,
	id: string,
	token: string,
): Promise<z.infer<typeof SignInTestResult>> =>
	retry(async () => {
		const hash = await digest(token);
		const [[before], [row]] = await tenant.read(select(tenant, id), selectTested(tenant, hash));
		const domain = orNotFound(before);
		const { user_id } = tenant.key;
		const tested = Tested.safeParse(row?.data).data;
		if (!row || tested?.user_id !== user_id || tested.domain_id !== domain.id)
			throw invalid("token", "This test has expired, or is somebody else's.", "expired");
		if ("problem" in tested) {
			const { problem, detail, claims = null } = tested;
			const steps = stepsOf({ name: problem, error: detail });
			return { ...testResult(steps), claims, is_linked: false };
		}
		const { who } = tested;
		const failure = failureOf({ who, row, domain }, user_id);
		const is_linked = !failure && who.email === row.email;
		if (is_linked && row.linked_to === null) await link(tenant, domain, who);
		return { ...testResult(stepsOf(failure)), claims: who.claims, is_linked };
	});

async function link(tenant: Tenant, domain: Domain, who: Verified) {
	const { checks, changes } = identityOf({ db: tenant.db, who }, tenant.key.user_id);
	const isVerified = and(byId(tenant, domain.id), isNotNull(domains.verified_at));
	await tenant.write({
		checks: [assertExists(tenant.db, domains, isVerified), ...checks],
		changes,
		entries: [
			{
				scope: "Identity",
				activity: "created",
				item_id: who.connection,
				name: who.email,
				values: { connection: who.connection, email: who.email },
				trigger: { job: "sign_in_test", connection: who.connection },
			},
		],
	});
	mailCaller(tenant, identityLinked(who));
}
