import { sender } from "../../../outbound/send.ts";
import { renewing, requestToken } from "./exchange.ts";
import type { Workload } from "./workload.ts";

/** The audience of federated credentials, as Microsoft recommends. */
const AUDIENCE = "api://AzureADTokenExchange";

/** Returns the meaning of an error of Microsoft Entra ID for the user, by its number. */
function meaningOf(said: string, { client_id, tenant_id }: Settings, workload: Workload) {
	const { claims, issuer, subject } = workload;
	const number = /AADSTS(\d+)/.exec(said)?.[1] ?? "";
	if (number.startsWith("700211"))
		return `The application has no federated credential for the issuer (iss) ${issuer}.`;
	if (number.startsWith("700212"))
		return `The application's federated credential has another audience (aud): set it to ${AUDIENCE}.`;
	if (number.startsWith("700213"))
		return `The application has no federated credential for the subject (sub) ${subject}.`;
	if (number === "700016")
		return `There is no application ${client_id} in the tenant: check client_id.`;
	if (number === "90002") return `There is no tenant ${tenant_id}: check tenant_id.`;
	if (number === "700024") return "The token isn't valid now (exp): a clock is wrong.";
	if (/^50166|^90061/.test(number)) return `Microsoft can't reach the issuer (iss) ${issuer}.`;
	return `Microsoft rejects the token (${claims(AUDIENCE)}).`;
}

type Settings = { client_id: string; tenant_id: string };

/** Gets access tokens for an application that trusts the export (a federated credential). */
export const azureTokens = (
	env: Env,
	settings: Settings,
	{ timeoutMs, workload }: { timeoutMs: number; workload: Workload },
) =>
	renewing(async () => {
		const { client_id, tenant_id } = settings;
		const token = await workload.token(AUDIENCE);
		const form = {
			grant_type: "client_credentials",
			client_id,
			client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
			client_assertion: token,
			scope: "https://storage.azure.com/.default",
		};
		const url = `https://login.microsoftonline.com/${tenant_id}/oauth2/v2.0/token`;
		const { access_token, expires_in } = await requestToken(sender(env, timeoutMs), [url, form], {
			secrets: [token],
			meaning: (_, said) => meaningOf(said, settings, workload),
		});
		const expires_at = Date.now() + expires_in * 1000;
		return { value: access_token, expires_at, secrets: [access_token] };
	});
