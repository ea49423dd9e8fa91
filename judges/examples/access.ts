/** The examples of roles and access controls. */
import type { Recorder } from "./recorder.ts";

/** @param member the uuid of a member, who gets a role for a while */
export async function access({ record, refuse }: Recorder, member: string) {
	const body = { name: "Data team", description: "Builds reports." };
	const role = await record("createRole", { body });
	await refuse("createRole", 400, { body });
	const ofRole = { id: String(role.id) };
	await record("addRoleMember", { parameters: ofRole, body: { member } });
	await record("listRoleMembers", { parameters: ofRole });
	await record("updateRole", { parameters: ofRole, body: { description: "Builds our reports." } });
	await record("getRole", { parameters: ofRole });
	await record("listRoles");
	const exports = { resource: "batch_export", role: role.id };
	const { id } = await record("createAccessControl", {
		body: { ...exports, access_level: "viewer" },
	});
	await refuse("createAccessControl", 400, { body: { ...exports, access_level: "owner" } });
	const parameters = { id: String(id) };
	await record("updateAccessControl", { parameters, body: { access_level: "manager" } });
	await record("getAccessControl", { parameters });
	await record("listAccessControls");
	await record("explainAccess", { parameters: { member, resource: "batch_export" } });
	await record("reviewMembers");
	await record("listCredentials");
	await record("deleteAccessControl", { parameters });
	await record("removeRoleMember", { parameters: { ...ofRole, user_uuid: member } });
	await record("deleteRole", { parameters: ofRole });
}
