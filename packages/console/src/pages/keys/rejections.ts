import { type PersonalApiKey, TenantryError } from "tenantry-client";
import { includes } from "../../ui/scopes.ts";
import type { KeySettings } from "./keys.ts";
import { momentOf } from "./states.ts";

const isWithin = <T>(list: readonly T[], limit: readonly T[]) =>
	limit.length === 0 || (list.length > 0 && list.every((id) => limit.includes(id)));

/** Returns the field that exceeds the key of this session, and the reason. */
function findExcess(settings: KeySettings, current: PersonalApiKey) {
	if (!settings.scopes?.every((scope) => includes(current.scopes, scope)))
		return ["scopes", "The key of this session doesn't have all of these scopes."];
	if (!isWithin(settings.scoped_organizations ?? [], current.scoped_organizations))
		return ["scoped_organizations", "The key of this session is restricted to organizations."];
	if (!isWithin(settings.scoped_projects ?? [], current.scoped_projects))
		return ["scoped_projects", "The key of this session is restricted to projects."];
	const { expires_at } = settings;
	if (current.expires_at && (!expires_at || expires_at > current.expires_at))
		return ["expires_at", `The key of this session expires on ${momentOf(current.expires_at)}.`];
	return current.allowed_ips.length > 0
		? ["allowed_ips", `The key of this session works only from ${current.allowed_ips.join(", ")}.`]
		: undefined;
}

/**
 * Adds the field and the reason to the error for a key with more permissions than the key in use.
 * The API doesn't return them.
 */
export function explain(
	error: unknown,
	settings: KeySettings,
	current: PersonalApiKey | undefined,
) {
	if (!(error instanceof TenantryError) || error.status !== 403 || error.attr) return error;
	const [attr, reason] = (current && findExcess(settings, current)) ?? [];
	if (!attr) return error;
	const { type, code, detail, status, headers } = error;
	return new TenantryError({ type, code, detail: `${detail} ${reason}`, attr, status, headers });
}
