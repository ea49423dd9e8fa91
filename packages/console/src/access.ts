/** What the user may do below the level, and with the key of the session (docs/access.md). */
import type { MemberAccess, Organization, PersonalApiKey } from "tenantry-client";
import { readable } from "./load.ts";
import { api, isWithKey } from "./session.ts";

export type Resource = MemberAccess["resource"];

export type Access = {
	/** The user's access to all resources; empty if the level allows everything. */
	rows: readonly MemberAccess[];
	/** The scopes of the key that the user signed in with; undefined without one. */
	scopes: PersonalApiKey["scopes"] | undefined;
};

/** The maximum number of objects that access controls of one member are about. */
const LIMIT = 1000;

/**
 * Loads an organization, and what the user may do in it. What the key has no scope to read isn't
 * known: then a change says what it lacks.
 */
export async function loadOrganization(
	id: string,
	signal: AbortSignal,
): Promise<{ organization: Organization; access: Access }> {
	const asked = isWithKey()
		? api.personalApiKeys.get({ id: "@current" }, { signal }).catch(() => undefined)
		: undefined;
	const organization = await api.organizations.get({ id }, { signal });
	const key = await asked;
	const mayAsk = !key || key.scopes.some((scope) => /^\*$|^organization_member:/.test(scope));
	const explained =
		organization.membership_level < 8 && mayAsk
			? await readable(api.access.explain({ organization: id, limit: LIMIT }, { signal }))
			: undefined;
	return {
		organization,
		access: { rows: explained?.results ?? [], scopes: key?.scopes },
	};
}

/** Returns the access to an object or, if nothing is said about it, to its resource. */
export const accessIn = (
	{ rows }: Access,
	resource: Resource,
	id?: string,
): MemberAccess | undefined =>
	rows.find((row) => row.resource === resource && row.resource_id === id) ??
	rows.find((row) => row.resource === resource && row.resource_id === null);

/** Whether access was given to the user or a role of theirs: it shows what otherwise admins see. */
export function isGiven(access: Access, resource: Resource) {
	const row = accessIn(access, resource);
	const isOwn = row?.access_controls.some(
		({ decides, given_to }) => decides && given_to !== "everyone",
	);
	return row?.can_view === true && (row.decided_by === "auditor" || isOwn === true);
}
