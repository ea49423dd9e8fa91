/** Exports that have a role, and what clouds reject. */
import { expect, test } from "vitest";
import { ACCOUNT } from "../../support/azurite.ts";
import {
	APPLICATION,
	clouds,
	ISSUER,
	PROVIDER,
	ROLE,
	SERVICE_ACCOUNT,
	TENANT,
	type Trust,
} from "../../support/clouds.ts";
import { world } from "../../support/world.ts";

export const S3 = { bucket_name: "exports", region: "eu-west-1", prefix: "roles" };
export const KEYLESS = {
	S3: { ...S3, role_arn: ROLE },
	GCS: { bucket_name: "exports", prefix: "roles", workload_identity_provider: PROVIDER },
	AzureBlob: {
		...{ container_name: "exports", prefix: "roles", account_name: ACCOUNT.account_name },
		...{ client_id: APPLICATION, tenant_id: TENANT },
	},
};

type Keyless = keyof typeof KEYLESS;

/** Creates an export with a role. Returns also the subject of its tokens. */
export async function stored(type: Keyless, more: object = {}) {
	const home = await world();
	const { body, status } = await home.here("POST", "/batch_exports", {
		body: {
			...{ name: "Export", interval: "hour", paused: true },
			destination: { type, config: { ...KEYLESS[type], ...more } },
		},
	});
	expect([status, body]).toMatchObject([201, { destination: { type } }]);
	const sub = `organization:${home.id}:project:${home.project}:batch_export:${body.id}`;
	const path = `/batch_exports/${body.id}`;
	return { ...home, export_id: body.id as string, sub, path };
}

export const tested = async (
	{ here, path }: Awaited<ReturnType<typeof stored>>,
	body: object = {},
) => (await here("POST", `${path}/test`, { body })).body;

/** What a customer can have set up wrongly: the destination, what is wrong, and the words of the test. */
export const CASES: [Keyless | "service account", string, Partial<Trust>, string][] = [
	[
		"S3",
		"has no provider",
		{ iss: "https://elsewhere.example" },
		`no OpenID Connect provider for the issuer (iss): create one for ${ISSUER}`,
	],
	["S3", "can't get the keys", { isReached: false }, `AWS can't get the keys of ${ISSUER}.`],
	[
		"S3",
		"accepts another audience",
		{ aud: ["another"] },
		"doesn't accept the audience (aud): add sts.amazonaws.com to it",
	],
	[
		"S3",
		"trusts another export",
		{ sub: "organization:x:project:1:batch_export:y" },
		"app.tenantry.test:sub is SUBJECT and app.tenantry.test:aud is sts.amazonaws.com",
	],
	[
		"S3",
		"has no such role",
		{ exists: ["sts.eu-west-1.amazonaws.com"] },
		"The role doesn't trust this export, or doesn't exist.",
	],
	[
		"S3",
		"has a clock that is ahead",
		{ ahead: 3_600_000 },
		"The token has expired (exp): a clock is wrong.",
	],
	["S3", "has STS disabled in the region", { exists: [ROLE] }, "STS is disabled in this region"],
	[
		"GCS",
		"has another issuer",
		{ iss: "https://elsewhere.example" },
		`The provider has another issuer (iss): set it to ${ISSUER}.`,
	],
	[
		"GCS",
		"can't reach the issuer",
		{ isReached: false },
		`Google can't reach the issuer (iss) ${ISSUER}.`,
	],
	[
		"GCS",
		"accepts another audience",
		{ aud: ["another"] },
		`doesn't accept the audience (aud): allow https://iam.googleapis.com/${PROVIDER}`,
	],
	[
		"GCS",
		"has a condition for another export",
		{ sub: "x" },
		"attribute condition rejects the subject (sub): it must allow SUBJECT.",
	],
	[
		"GCS",
		"has a clock that is ahead",
		{ ahead: 3_600_000 },
		"The token has expired (exp): a clock is wrong.",
	],
	[
		"GCS",
		"has no such provider",
		{ exists: [] },
		"There is no such workload identity provider, or it is disabled",
	],
	[
		"service account",
		"may not be used",
		{ isUser: false },
		`The export may not act as ${SERVICE_ACCOUNT}: grant principal://iam.googleapis.com/projects/123456789012/locations/global/workloadIdentityPools/exports/subject/SUBJECT the role Workload Identity User on it.`,
	],
	[
		"service account",
		"doesn't exist",
		{ exists: [PROVIDER] },
		`There is no service account ${SERVICE_ACCOUNT}.`,
	],
	[
		"AzureBlob",
		"has another issuer",
		{ iss: "https://elsewhere.example" },
		`no federated credential for the issuer (iss) ${ISSUER}.`,
	],
	[
		"AzureBlob",
		"can't reach the issuer",
		{ isReached: false },
		`Microsoft can't reach the issuer (iss) ${ISSUER}.`,
	],
	[
		"AzureBlob",
		"accepts another audience",
		{ aud: ["another"] },
		"has another audience (aud): set it to api://AzureADTokenExchange.",
	],
	[
		"AzureBlob",
		"trusts another export",
		{ sub: "x" },
		"no federated credential for the subject (sub) SUBJECT.",
	],
	[
		"AzureBlob",
		"has a clock that is ahead",
		{ ahead: 3_600_000 },
		"The token isn't valid now (exp): a clock is wrong.",
	],
	[
		"AzureBlob",
		"has no such application",
		{ exists: [TENANT] },
		`There is no application ${APPLICATION} in the tenant`,
	],
	[
		"AzureBlob",
		"has no such tenant",
		{ exists: [] },
		`There is no tenant ${TENANT}: check tenant_id.`,
	],
];

/** Tests what a test of a destination says about these cases. */
export function testRefusals(cases: typeof CASES) {
	test.each(cases)("a test of %s says that the cloud %s", async (what, _, trust, words) => {
		const isAccount = what === "service account";
		const made = await stored(
			isAccount ? "GCS" : what,
			isAccount ? { client_email: SERVICE_ACCOUNT } : {},
		);
		const cloud = clouds({ sub: made.sub, ...trust });
		const { success, steps } = await tested(made);
		expect(success).toBe(false);
		expect(steps.at(-1)).toEqual({
			name: "sign in",
			error: expect.stringContaining(words.replace("SUBJECT", made.sub)),
			warning: null,
		});
		expect(cloud.tokens).toHaveLength(1);
		for (const part of cloud.tokens[0]?.split(".").slice(1) ?? [])
			expect(JSON.stringify(steps)).not.toContain(part);
	});
}
