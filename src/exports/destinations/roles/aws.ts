import { AwsClient } from "aws4fetch";
import { MisconfiguredError } from "../../../outbound/errors.ts";
import { elementOf } from "../../../outbound/quote.ts";
import { type HttpResponse, sender, unavailable } from "../../../outbound/send.ts";
import { problemOf } from "../buckets/client.ts";
import { isAwsRegion, NOT_AWS_REGION } from "../fields.ts";
import { type Auth, type Credentials, renewing } from "./exchange.ts";
import type { Workload } from "./workload.ts";

/** What the provider in IAM has to accept. */
const AUDIENCE = "sts.amazonaws.com";

/** Errors of AssumeRoleWithWebIdentity that a retry may resolve. */
const TEMPORARY = ["IDPCommunicationError", "InternalFailure", "ServiceUnavailable", "Throttling"];

/** Where keys come from. */
export type KeySource = { get(): Promise<Keys | null>; secrets(): string[] };

type Keys = { id: string; secret: string; session?: string | null | undefined };

/** Returns the error of STS ("AssumeRoleWithWebIdentity", "Troubleshoot OIDC federation"). */
function refusal(response: HttpResponse, role_arn: string, { claims, issuer, subject }: Workload) {
	const host = issuer?.replace("https://", "");
	const message = elementOf("Message", response.text);
	const invalid = /audience/i.test(message)
		? `The OpenID Connect provider ${host} in IAM doesn't accept the audience (aud): add ${AUDIENCE} to it.`
		: /No OpenIDConnect provider/i.test(message)
			? `The account of the role has no OpenID Connect provider for the issuer (iss): create one for ${issuer}.`
			: /verification key/i.test(message)
				? `AWS can't get the keys of ${issuer}.`
				: `AWS rejects the token (${claims(AUDIENCE)}).`;
	const meanings = {
		AccessDenied: `The role doesn't trust this export, or doesn't exist. Its trust policy must allow sts:AssumeRoleWithWebIdentity to the provider ${host}, if ${host}:sub is ${subject} and ${host}:aud is ${AUDIENCE}.`,
		ExpiredTokenException: "The token has expired (exp): a clock is wrong.",
		InvalidIdentityToken: invalid,
		IDPRejectedClaim: `The provider rejects the token (${claims(AUDIENCE)}).`,
		RegionDisabledException:
			"STS is disabled in this region: enable it in the account of the role.",
		ValidationError: `AWS doesn't accept role_arn: ${role_arn}.`,
	};
	return problemOf(/<Code>(\w{1,64})<\/Code>/.exec(response.text)?.[1] ?? "", response, {
		temporary: TEMPORARY,
		meanings: new Map(Object.entries(meanings)),
		rejected: "AWS rejected the role.",
	});
}

type Taking = {
	timeoutMs: number;
	/** Who takes a role. */
	workload: Workload;
};

async function assumeRole(
	env: Env,
	{ role_arn, region }: { role_arn: string; region: string },
	{ timeoutMs, workload }: Taking,
): Promise<Credentials<Keys>> {
	if (!isAwsRegion(region)) throw new MisconfiguredError(`Check region: ${NOT_AWS_REGION}`);
	// Nobody can choose where the token is sent: an endpoint_url is only for the bucket.
	const domain = role_arn.startsWith("arn:aws-cn:") ? "amazonaws.com.cn" : "amazonaws.com";
	const token = await workload.token(AUDIENCE);
	const body = new URLSearchParams({
		Action: "AssumeRoleWithWebIdentity",
		Version: "2011-06-15",
		RoleArn: role_arn,
		RoleSessionName: `tenantry-${workload.subject?.split(":").at(-1)}`,
		WebIdentityToken: token,
	});
	const request = new Request(`https://sts.${region}.${domain}/`, { method: "POST", body });
	const response = await sender(env, timeoutMs).exchange(request, [token]);
	if (response.status >= 300) throw refusal(response, role_arn, workload);
	const [id, secret, session, expiration] = (
		["AccessKeyId", "SecretAccessKey", "SessionToken", "Expiration"] as const
	).map((name) => elementOf(name, response.text));
	const expires_at = Date.parse(expiration ?? "");
	if (!id || !secret || !session || Number.isNaN(expires_at))
		throw unavailable(response, "STS didn't send credentials.");
	return { value: { id, secret, session }, expires_at, secrets: [secret, session] };
}

/** The settings of a role. */
type Place = { role_arn?: string | null | undefined; region?: string | null | undefined };

/** The settings of a key. */
type Settings = {
	aws_access_key_id?: string | null | undefined;
	aws_secret_access_key?: string | null | undefined;
	aws_session_token?: string | null | undefined;
};

/** Returns the keys of the settings. */
export function keysIn(settings: Settings): KeySource {
	const { aws_access_key_id: id, aws_secret_access_key: secret, ...more } = settings;
	const session = more.aws_session_token;
	const secrets = [id, secret, session].filter((one) => typeof one === "string");
	const value: Keys | null = id && secret ? { id, secret, session } : null;
	return { get: async () => value, secrets: () => secrets };
}

/** Returns the keys of the settings, or the temporary ones of their role. */
export function keysOf(
	env: Env,
	{ role_arn, region, ...settings }: Settings & Place,
	taking: Taking,
): KeySource {
	return role_arn && region
		? renewing(() => assumeRole(env, { role_arn, region }, taking))
		: keysIn(settings);
}

/**
 * Signs requests to AWS or a compatible service.
 * @param service the signing name, such as `s3`
 * @param names the settings of a key, for an error message
 */
export function awsAuth(
	keys: KeySource,
	{
		service,
		region,
		names = "aws_access_key_id and aws_secret_access_key",
	}: { service: string; region?: string | null | undefined; names?: string },
): Auth {
	let signer: { of: Keys; client: AwsClient } | undefined;
	async function clientOf() {
		const of = await keys.get();
		if (!of) throw new MisconfiguredError(`Requests can't be signed without ${names}.`);
		if (signer?.of !== of)
			signer = {
				of,
				client: new AwsClient({
					accessKeyId: of.id,
					secretAccessKey: of.secret,
					...(of.session && { sessionToken: of.session }),
					...(region && { region }),
					service,
					retries: 0,
				}),
			};
		return signer.client;
	}
	return {
		secrets: keys.secrets,
		sign: async (url, init) => (await clientOf()).sign(url, init),
	};
}
