import { isAllowed } from "../keys/addresses.ts";
import type { Key } from "../keys/keys.ts";
import type { Caller } from "./guard.ts";
import { hasScope } from "./scopes.ts";

/** The access of an API key. */
export type Access = Pick<
	Key,
	"scopes" | "organizations" | "projects" | "allowed_ips" | "expires_at"
>;

/** A key in use. */
export type Holder = Pick<Caller, "key" | "is_session">;

/** Returns the access of the key in use. A session counts as a key without expiry. */
export const accessOf = ({ key, is_session }: Holder): Access => ({
	scopes: key.scopes,
	organizations: key.organizations,
	projects: key.projects,
	allowed_ips: key.allowed_ips,
	expires_at: is_session ? null : key.expires_at,
});

/** Whether `list` restricts a key at least as much as `limit`. An empty list means all. */
const isWithin = <T>(list: T[], limit: T[]) =>
	limit.length === 0 || (list.length > 0 && list.every((id) => limit.includes(id)));

/** Like `isWithin`, for lists of IP addresses and ranges. */
async function areWithin(list: string[], limit: string[]) {
	if (limit.length === 0) return true;
	const within = await Promise.all(list.map((range) => isAllowed(limit, range)));
	return list.length > 0 && within.every(Boolean);
}

/** Whether the key in use has at least this access, for at least as long. */
export async function hasAccess(holder: Holder, access: Access) {
	const { scopes, organizations, projects, allowed_ips, expires_at } = accessOf(holder);
	return (
		access.scopes.every((scope) => hasScope(scopes, scope)) &&
		isWithin(access.organizations, organizations) &&
		isWithin(access.projects, projects) &&
		(await areWithin(access.allowed_ips, allowed_ips)) &&
		(expires_at === null || (access.expires_at !== null && access.expires_at <= expires_at))
	);
}
