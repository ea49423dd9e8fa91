/** The names of ways to sign in. */
const NAMES: Record<string, string> = {
	mail: "Link by mail",
	passkey: "Passkey",
	saml: "SAML",
	oidc: "OpenID Connect",
	"google-oauth2": "Google",
	github: "GitHub",
	gitlab: "GitLab",
};

export const providerName = (method: string) =>
	new Map(Object.entries(NAMES)).get(method) ?? method;
