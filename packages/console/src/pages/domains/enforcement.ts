import type { Domain } from "tenantry-client";
import { providerName } from "../../ui/providers.ts";

type Enforcement = Domain["sso_enforcement"];

/** The sign-in methods that can be enforced. */
export const ENFORCEMENTS: readonly (readonly [value: Enforcement, words: string])[] = [
	["", "Any way"],
	...(["saml", "oidc", "google-oauth2", "github", "gitlab"] as const).map(
		(method) => [method, providerName(method)] as const,
	),
];

export const enforcementName = (enforcement: Enforcement) =>
	ENFORCEMENTS.find(([value]) => value === enforcement)?.[1] ?? enforcement;

export const enforcementOf = (chosen: string): Enforcement =>
	ENFORCEMENTS.find(([value]) => value === chosen)?.[0] ?? "";
