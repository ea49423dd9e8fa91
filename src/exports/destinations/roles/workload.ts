/** Who signs in to a cloud: an export, or an audit stream. */
import { canSign } from "../../../keys/signing_keys.ts";
import { issueWorkloadToken, tokenIssuer } from "../../../keys/workload_tokens.ts";
import { MisconfiguredError } from "../../../outbound/errors.ts";

export type Workload = ReturnType<typeof workloadOf>;

/** @param subject null if it isn't known yet, because the export isn't stored */
export function workloadOf(env: Env, subject: string | null) {
	const issuer = tokenIssuer(env);
	return {
		subject,
		/** Returns the claims of a token, for error messages. */
		claims: (audience: string) => `iss ${issuer}, sub ${subject}, aud ${audience}`,
		issuer,

		/** @throws MisconfiguredError if there can't be a token */
		async token(audience: string): Promise<string> {
			if (issuer === null)
				throw new MisconfiguredError(
					"Roles can't be used here, because clouds can't check this service's tokens: APP_URL isn't an https URL. Ask the operator to set it, or give a key.",
				);
			if (!canSign(env))
				throw new MisconfiguredError(
					"Roles can't be used here, because tokens can't be signed: SECRETS_KEY isn't set. Ask the operator to set it.",
				);
			if (subject === null)
				throw new MisconfiguredError(
					"Create the export first, paused: its id is part of the subject that the role has to trust. Then test it.",
				);
			return issueWorkloadToken(env, subject, audience);
		},
	};
}
