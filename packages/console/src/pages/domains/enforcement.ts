import type { Domain } from "tenantry-client";

type Enforcement = Domain["sso_enforcement"];

/** The sign-in methods that can be enforced. */
export const ENFORCEMENTS: readonly (readonly [value: Enforcement, words: string])[] = [
	["", "Any way"],
	["saml", "SAML"],
	["oidc", "OpenID Connect"],
	["google-oauth2", "Google"],
	["github", "GitHub"],
	["gitlab", "GitLab"],
];

export const enforcementName = (enforcement: Enforcement) =>
	ENFORCEMENTS.find(([value]) => value === enforcement)?.[1] ?? enforcement;

export const enforcementOf = (chosen: string): Enforcement =>
	ENFORCEMENTS.find(([value]) => value === chosen)?.[0] ?? "";
