import { and, eq, sql } from "drizzle-orm";
import type * as z from "zod";
import type { Tenant } from "../../access/tenant.ts";
import { retry } from "../../access/unit_of_work.ts";
import { changes } from "../../db/changes.ts";
import { assertExists } from "../../db/client.ts";
import { OWNER } from "../../db/schema/levels.ts";
import { domains } from "../../db/schema/organizations.ts";
import { identities } from "../../db/schema/sign_in.ts";
import { doesNotExist, forbidden, invalid, orNotFound } from "../../http/errors.ts";
import { newToken } from "../../keys/keys.ts";
import { now } from "../../lib/time.ts";
import { linkTo } from "../../outbound/mail.ts";
import { connectionOf } from "../../people/connections.ts";
import { isReplaced, seal, secretIn, whyIncomplete } from "./connections.ts";
import { endSessions, isTested, selectBreakGlass } from "./enforcement.ts";
import { checkIssuer } from "./issuer.ts";
import { lapsedClaim, release } from "./ownership.ts";
import { byId, isCurrent, type Row, select, toDomain } from "./rows.ts";
import type { update as Update } from "./shape.ts";

/** Fields with what the provider calls itself, which are easy to confuse with ours. */
const THEIRS = ["saml_entity_id", "saml_acs_url"] as const;

type Provider = { saml_metadata?: string | null | undefined } & {
	[K in (typeof THEIRS)[number]]?: string | null | undefined;
};

/**
 * Returns a body with the fields that the metadata in it has, instead of the metadata. Fields that
 * the body has, too, stay.
 * @throws 400 if the metadata can't be fetched or read, or if it is ours
 */
export async function withSaml<T extends Provider>(env: Env, { saml_metadata, ...body }: T) {
	for (const attr of THEIRS)
		if (env.APP_URL && body[attr]?.startsWith(linkTo(env.APP_URL, "/sso/saml/")))
			throw invalid(attr, "This is a value of this service. Enter that of the provider.");
	if (!saml_metadata) return body;
	const { readMetadata } = await import("./metadata_reader.ts");
	return { ...(await readMetadata(env, saml_metadata)), ...body };
}

type Input = z.infer<typeof Update>;

type Body = Omit<Input, "saml_metadata">;

/** Returns the row with the changes of a body. */
const changed = (row: Row, body: Body) => ({
	...row,
	...body,
	domain: body.domain ?? row.domain,
	sso_enforcement: body.sso_enforcement ?? row.sso_enforcement,
	break_glass: body.break_glass ?? row.break_glass,
});

type After = ReturnType<typeof changed>;

/** @throws 400 for the first setting that a domain can't have */
function checkSettings(row: Row, body: Body, after: After) {
	const unverified = row.verified_at === null;
	for (const attr of ["jit_provisioning_enabled", "sso_enforcement"] as const)
		if (unverified && body[attr] !== undefined)
			throw invalid(
				attr,
				"This attribute cannot be updated until the domain is verified.",
				"verification_required",
			);
	const incomplete = whyIncomplete(after.sso_enforcement, after);
	if (incomplete) throw invalid("sso_enforcement", incomplete);
	if (!unverified && after.domain !== row.domain)
		throw invalid(
			"domain",
			"A verified domain cannot be renamed. Delete it and add the other one.",
		);
	// Otherwise, an admin could have the secret that another admin entered sent to their own server.
	const isKept = row.oidc_client_secret !== null && body.oidc_client_secret === undefined;
	if (isKept && after.oidc_issuer && after.oidc_issuer !== row.oidc_issuer)
		throw invalid(
			"oidc_client_secret",
			"Enter the client secret again: the issuer has changed.",
			"required",
		);
}

const OWN = ["saml", "oidc"] as const;

/** Returns what the change means for single sign-on. Throws 400 if enforcing it wasn't tested. */
function planOf(row: Row, after: After, hasSignedIn: boolean) {
	const replaced = OWN.filter((sso) => isReplaced(sso, row, after));
	const sso = after.sso_enforcement;
	const isNew = sso !== "" && sso !== row.sso_enforcement;
	if (replaced.some((one) => one === sso))
		throw invalid(
			"sso_enforcement",
			"Nobody has signed in through the new provider. Stop enforcing single sign-on, sign in through it, then enforce it again.",
			"sign_in_not_tested",
		);
	if (isNew && !hasSignedIn)
		throw invalid(
			"sso_enforcement",
			"Sign in this way yourself before you enforce it, so that you know that it works.",
			"sign_in_not_tested",
		);
	const hasChanged = isNew || changes(row, { break_glass: after.break_glass }).length > 0;
	return { replaced, isNew, endsSessions: sso !== "" && hasChanged };
}

/** @throws 403 if the caller isn't an owner, 400 for the first person who can't be named */
function checkBreakGlass(
	tenant: Tenant,
	row: Row,
	{ break_glass }: After,
	eligible: { uuid: string; is_2fa_enabled: boolean }[],
) {
	if (changes(row, { break_glass }).length === 0) return;
	if (tenant.caller.level < OWNER)
		throw forbidden("Only owners can choose who signs in without the provider.");
	for (const uuid of break_glass) {
		const user = eligible.find((user) => user.uuid === uuid);
		if (!user) throw doesNotExist("break_glass", uuid);
		if (!user.is_2fa_enabled && !row.break_glass.includes(uuid))
			throw invalid("break_glass", `${uuid} must set up a second factor first.`);
	}
}

/** Returns the body with the values as `Row` has them. */
function bodyOf({ oidc_client_secret, break_glass, ...rest }: Body): Body {
	const secret = secretIn({ oidc_client_secret });
	return {
		...rest,
		...(break_glass && { break_glass: break_glass.toSorted() }),
		...(secret !== undefined && { oidc_client_secret: secret }),
	};
}

/** Changes the settings of a domain (docs/sign-on.md). */
export const update = (tenant: Tenant, id: string, input: Input) =>
	retry(() => tryUpdate(tenant, id, input));

async function tryUpdate(tenant: Tenant, id: string, input: Input) {
	const { db, env, organization, key } = tenant;
	const name = sql<string>`(select ${domains.domain} from ${domains} where ${byId(tenant, id)})`;
	const { sso_enforcement: wanted = "", break_glass: chosen = [] } = input;
	const [[before], [claim], eligible, [tested]] = await tenant.read(
		select(tenant).where(byId(tenant, id)),
		lapsedClaim(tenant, input.domain ?? ""),
		selectBreakGlass(db, organization, name, chosen),
		db
			.select({ connection: identities.connection })
			.from(identities)
			.where(isTested(key.user_id, { id: id.toLowerCase(), domain: name }, wanted))
			.limit(1),
	);
	const row = orNotFound(before);
	const body = bodyOf(await withSaml(env, input));
	const after = changed(row, body);
	checkSettings(row, body, after);
	checkBreakGlass(tenant, row, after, eligible);
	const plan = planOf(row, after, tested !== undefined);
	if (after.oidc_issuer !== row.oidc_issuer) await checkIssuer(env, after.oidc_issuer);
	const set = await columnsOf(tenant, row, body);
	const released = release(tenant, claim);
	const entry = { scope: "Domain" as const, name: after.domain };
	const result = await tenant.patch(row, body, entry, () => ({
		checks: [
			assertExists(db, domains, and(byId(tenant, id), isCurrent(row))),
			...(plan.isNew ? [assertExists(db, identities, isTested(key.user_id, row, wanted))] : []),
			...released.checks,
		],
		changes: [
			...released.changes,
			...plan.replaced.map((sso) =>
				db.delete(identities).where(eq(identities.connection, connectionOf(row.id, sso))),
			),
			db.update(domains).set(set).where(byId(tenant, id)),
			...(plan.endsSessions ? [endSessions(db, row, after.sso_enforcement)] : []),
		],
		entries: released.entries,
		answer: select(tenant).where(byId(tenant, id)),
	}));
	return toDomain(result);
}

/** Returns the columns that a body changes. */
async function columnsOf({ db, env, organization }: Tenant, row: Row, body: Body) {
	const { break_glass, oidc_client_secret, ...columns } = body;
	const renamed = body.domain !== undefined && body.domain !== row.domain;
	const sealed = await seal(env, row.id, oidc_client_secret);
	return {
		...columns,
		...(sealed !== undefined && { oidc_client_secret: sealed }),
		...(break_glass && {
			break_glass: sql`(select json_group_array(chosen.id)
				from ${selectBreakGlass(db, organization, row.domain, break_glass)} as chosen)`,
		}),
		...(renamed && { verification_challenge: newToken(), claimed_at: now() }),
	};
}
