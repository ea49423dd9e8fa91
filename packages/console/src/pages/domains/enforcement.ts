import type { Domain } from "tenantry-client";
import { providerName } from "../../ui/providers.ts";

type Enforcement = Domain["sso_enforcement"];

/** The ways to sign in through a provider. */
export const METHODS = ["oidc", "saml", "google-oauth2", "github", "gitlab"] as const;

/** The sign-in methods that can be enforced. */
export const ENFORCEMENTS: readonly (readonly [value: Enforcement, words: string])[] = [
	["", "Any way"],
	...METHODS.map((method) => [method, providerName(method)] as const),
];

export const enforcementName = (enforcement: Enforcement) =>
	ENFORCEMENTS.find(([value]) => value === enforcement)?.[1] ?? enforcement;

export const enforcementOf = (chosen: string): Enforcement =>
	ENFORCEMENTS.find(([value]) => value === chosen)?.[0] ?? "";
