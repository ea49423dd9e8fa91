import * as z from "zod";
import { jsonOf } from "../../../lib/json.ts";
import { MisconfiguredError } from "../../../outbound/errors.ts";
import { quote } from "../../../outbound/quote.ts";
import { addressOf, sender, unavailable } from "../../../outbound/send.ts";
import { type Auth, type Credentials, renewing, requestToken } from "./exchange.ts";
import type { Workload } from "./workload.ts";

const TOKEN_URL = "https://sts.googleapis.com/v1/token";

const ACCOUNTS_URL = "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts";

/** What a token can do for a service account, which it has to become first. */
const ANY_SCOPE = "https://www.googleapis.com/auth/cloud-platform";

/** Returns the meaning of an error of the Security Token Service for the user. */
function meaningOf(error: string, said: string, provider: string, { claims, ...who }: Workload) {
	const aud = `https://iam.googleapis.com/${provider}`;
	if (error === "invalid_target")
		return "There is no such workload identity provider, or it is disabled: check workload_identity_provider.";
	if (/attribute condition/i.test(said))
		return `The provider's attribute condition rejects the subject (sub): it must allow ${who.subject}.`;
	if (/audience/i.test(said))
		return `The provider doesn't accept the audience (aud): allow ${aud}, or leave its audiences empty.`;
	if (/connecting to the given credential's issuer/i.test(said))
		return `Google can't reach the issuer (iss) ${who.issuer}.`;
	if (/issuer/i.test(said))
		return `The provider has another issuer (iss): set it to ${who.issuer}.`;
	if (/stale|expired/i.test(said)) return "The token has expired (exp): a clock is wrong.";
	if (/mapped attribute|google\.subject/i.test(said))
		return "The provider's attribute mapping must be google.subject = assertion.sub.";
	return `Google rejects the token (${claims(aud)}).`;
}

const AccessToken = z.object({ accessToken: z.string().min(1), expireTime: z.string() });
const ApiError = z.object({ error: z.object({ message: z.string() }) });

type Settings = {
	workload_identity_provider: string;
	client_email?: string | null | undefined;
};

type Access = { scope: string; timeoutMs: number; workload: Workload };

/** Becomes a service account ("generateAccessToken"). */
async function impersonate(
	env: Env,
	{ workload_identity_provider, client_email }: Settings,
	{ federated, scope, timeoutMs, workload }: Access & { federated: string },
): Promise<Credentials<string>> {
	const request = new Request(
		`${ACCOUNTS_URL}/${encodeURIComponent(client_email ?? "")}:generateAccessToken`,
		{
			method: "POST",
			headers: { authorization: `Bearer ${federated}`, "content-type": "application/json" },
			body: JSON.stringify({ scope: [scope] }),
		},
	);
	const response = await sender(env, timeoutMs).send(request, [federated]);
	const json = jsonOf(response.text);
	const { data } = AccessToken.safeParse(json);
	const expires_at = Date.parse(data?.expireTime ?? "");
	if (response.status < 300 && data && !Number.isNaN(expires_at))
		return { value: data.accessToken, expires_at, secrets: [federated, data.accessToken] };
	if (response.status < 300) throw unavailable(response);
	const pool = workload_identity_provider.split("/providers/")[0];
	const meaning =
		response.status === 404
			? `There is no service account ${client_email}.`
			: `The export may not act as ${client_email}: grant principal://iam.googleapis.com/${pool}/subject/${workload.subject} the role Workload Identity User on it.`;
	const said = ApiError.safeParse(json).data?.error.message ?? `status ${response.status}`;
	throw new MisconfiguredError(
		`${meaning} ${addressOf(new URL(request.url))} says: ${quote([federated], said)}`,
	);
}

/** Gets access tokens for a principal of a workload identity pool, or for a service account. */
export const googleTokens = (env: Env, settings: Settings, access: Access) =>
	renewing(async (): Promise<Credentials<string>> => {
		const { workload_identity_provider: provider, client_email } = settings;
		const { scope, timeoutMs, workload } = access;
		const audience = `//iam.googleapis.com/${provider}`;
		const token = await workload.token(`https:${audience}`);
		const form = {
			grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
			audience,
			scope: client_email ? ANY_SCOPE : scope,
			requested_token_type: "urn:ietf:params:oauth:token-type:access_token",
			subject_token: token,
			subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
		};
		const { access_token, expires_in } = await requestToken(
			sender(env, timeoutMs),
			[TOKEN_URL, form],
			{
				secrets: [token],
				meaning: (error, said) => meaningOf(error, said, provider, workload),
			},
		);
		if (client_email) return impersonate(env, settings, { ...access, federated: access_token });
		const expires_at = Date.now() + expires_in * 1000;
		return { value: access_token, expires_at, secrets: [access_token] };
	});

/** Sends requests with the tokens. The names of headers are Google's, not Amazon's. */
export const googleAuth = (tokens: ReturnType<typeof googleTokens>): Auth => ({
	secrets: tokens.secrets,
	async sign(url, { headers, ...init }) {
		const named = [...new Headers(headers)].map(
			([name, value]) => [name.replace(/^x-amz-/, "x-goog-"), value] as const,
		);
		const all = new Headers(Object.fromEntries(named));
		all.set("authorization", `Bearer ${await tokens.get()}`);
		return new Request(url, { ...init, headers: all });
	},
});
