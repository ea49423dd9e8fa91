/** The examples of organizations, people, keys, domains and projects. */
import { RECEIPT, type Recorder } from "./recorder.ts";
import { scim } from "./scim.ts";
import { singleSignOn } from "./sso.ts";

const tokenOf = (url: string | null | undefined) => String(url).split("/").at(-1) ?? "";

/** @returns the user of a new member, and a key of that user */
export async function invites({ record, refuse }: Recorder) {
	const { accept_url } = await record("createInvite", {
		body: {
			target_email: "analyst@example.com",
			first_name: "Analyst",
			level: 1,
			message: "The reports that you asked for are here.",
			send_email: false,
		},
	});
	await refuse("createInvite", 400, { body: { target_email: "analyst" } });
	const several = await record("createInvites", {
		body: [
			{ target_email: "support@example.com", send_email: false },
			{ target_email: "developer@example.com", level: 8, send_email: false },
		],
	});
	await refuse("createInvites", 400, { body: [{}] });
	await record("listInvites");
	const token = tokenOf(accept_url);
	await record("previewInvite", { parameters: { token }, key: null });
	await record("showInvitePage", { parameters: { token }, key: null });
	const { user, personal_api_key } = await record("acceptInvite", {
		parameters: { token },
		body: { first_name: "Analyst", last_name: "" },
		key: null,
	});
	const [first, second] = several.results ?? [];
	await record("acceptInviteOnPage", {
		parameters: { token: tokenOf(String(first?.accept_url)) },
		body: new URLSearchParams({ first_name: "Support" }),
		key: null,
	});
	await record("deleteInvite", { parameters: { id: String(second?.id) } });
	return { uuid: user?.uuid ?? "", key: personal_api_key?.value };
}

/** Invites somebody else, who deletes their account. */
export async function erasure({ record, refuse }: Recorder) {
	const email = "guest@example.com";
	const body = { target_email: email, level: 1, send_email: false };
	const { accept_url } = await record("createInvite", { body });
	const accepting = { parameters: { token: tokenOf(accept_url) }, body: {}, key: null };
	const { personal_api_key } = await record("acceptInvite", accepting);
	const parameters = { uuid: "@me" };
	await refuse("deleteUser", 400, {
		parameters,
		body: { email: "admin@example.com" },
		key: personal_api_key?.value,
	});
	await record("deleteUser", { parameters, body: { email }, key: personal_api_key?.value });
}

export async function members({ record, refuse }: Recorder, user__uuid: string) {
	await record("listMembers", { parameters: { search: "analyst", order: "-joined_at" } });
	await record("updateMember", { parameters: { user__uuid }, body: { level: 8 } });
	await refuse("updateMember", 400, { parameters: { user__uuid }, body: { level: 7 } });
}

/** What belongs to a member, and the end of it. */
export async function memberDetails({ record }: Recorder, user__uuid: string) {
	await record("remindMembers");
	const { keys } = await record("getMemberDetails", { parameters: { user__uuid } });
	await record("endMemberSessions", { parameters: { user__uuid } });
	const id = String(keys?.[0]?.id);
	await record("revokeMemberKey", { parameters: { user__uuid, id }, headers: RECEIPT });
}

export async function projectMembers({ record, refuse }: Recorder, user_uuid: string) {
	await record("addProjectMember", { body: { user_uuid, level: 8 } });
	await refuse("addProjectMember", 400, { body: { user_uuid, level: 8 } });
	await record("listProjectMembers");
	await record("updateProjectMember", { parameters: { user_uuid }, body: { level: 1 } });
	await record("removeProjectMember", { parameters: { user_uuid } });
}

export async function users({ record }: Recorder, project: number) {
	const parameters = { uuid: "@me" };
	await record("updateUser", { parameters, body: { first_name: "Admin", project } });
	await record("getUser", { parameters });
}

export async function organizations({ record, refuse }: Recorder, project: number) {
	const { id } = await record("createOrganization", { body: { name: "Acme Research" } });
	await refuse("createOrganization", 400, { body: {} });
	// A new organization becomes the current one.
	await record("updateUser", { parameters: { uuid: "@me" }, body: { project } });
	const parameters = { id: String(id) };
	await record("listOrganizations");
	await record("getOrganization", { parameters });
	await record("getOrganizationContents", { parameters });
	await record("updateOrganization", {
		parameters,
		body: { name: "Acme Labs", enforce_2fa: true, is_member_join_email_enabled: false },
	});
	await record("deleteOrganization", { parameters });
}

/** @param kind the word in operation ids: projects are also below their organization */
export async function projects(
	{ record, refuse }: Recorder,
	kind: "" | "Organization",
	current: number,
) {
	const body = { name: "Mobile app", timezone: "Europe/Berlin", access_control: true };
	const { id } = await record(`create${kind}Project`, { body });
	await refuse(`create${kind}Project`, 400, { body: { name: "Shop", timezone: "Berlin" } });
	// A new project becomes the current one.
	await record("updateUser", { parameters: { uuid: "@me" }, body: { project: current } });
	const parameters = { id: String(id) };
	await record(`list${kind}Projects`);
	await record(`get${kind}Project`, { parameters });
	await record(`get${kind}ProjectContents`, { parameters });
	await record(`update${kind}Project`, { parameters, body: { name: "Mobile apps" } });
	await record(`delete${kind}Project`, { parameters });
	if (kind)
		await record("restoreOrganizationProject", {
			parameters: { deleted_id: String(id) },
			body: {},
		});
}

export async function notifications({ record, refuse }: Recorder, uuid: string) {
	const jobs = { type: "plugin_job.failed", recipients: [uuid] };
	await record("updateNotifications", { body: { subscriptions: [jobs] } });
	await refuse("updateNotifications", 400, {
		body: { subscriptions: [{ ...jobs, recipients: "owner" }] },
	});
	await record("getNotifications");
}

/**
 * Records a domain and its single sign-on.
 * @param publish adds a TXT record to the DNS
 * @param url the URL of the service
 * @returns replacements
 */
export async function domains(
	recorder: Recorder,
	publish: (domain: string, challenge: string) => void,
	url: string,
) {
	const { record, refuse } = recorder;
	const domain = "example.com";
	const { id, verification_challenge } = await record("createDomain", { body: { domain } });
	await refuse("createDomain", 400, { body: {} });
	const parameters = { id: String(id) };
	await record("getDomain", { parameters });
	await refuse("getDomain", 404, {
		parameters: { id: "00000000-0000-7000-8000-000000000000" },
	});
	const jit = { jit_provisioning_enabled: true };
	await refuse("updateDomain", 400, { parameters, body: jit });
	publish(domain, verification_challenge ?? "");
	await record("verifyDomain", { parameters });
	await refuse("verifyDomain", 400, { parameters });
	await refuse("updateDomain", 412, { parameters, body: jit, headers: { "if-match": '"older"' } });
	await record("updateDomain", { parameters, body: jit });
	await refuse("updateDomain", 415, {
		parameters,
		body: jit,
		headers: { "content-type": "text/plain" },
	});
	await refuse("createDomain", 413, { body: { domain: "x".repeat(2 ** 20) } });
	await record("listDomains");
	const ofDomain = { parameters: { domain_id: String(id) }, key: null };
	await record("getSamlMetadata", ofDomain);
	await record("startSaml", ofDomain);
	const form = new URLSearchParams({ SAMLResponse: "PHNhbWxwOlJlc3BvbnNlLz4=" });
	await record("acceptSamlResponse", { ...ofDomain, body: form });
	await scim(recorder, String(id), `${url}/scim/v2/${id}`);
	const replacements = await singleSignOn(recorder, String(id), "admin@example.com");
	await record("deleteDomain", { parameters });
	return replacements;
}

export async function keys({ record, refuse }: Recorder) {
	const { id, value } = await record("createPersonalApiKey", {
		body: {
			label: "Nightly report",
			scopes: ["batch_export:read", "project:read"],
			expires_at: "2031-01-01T00:00:00.000Z",
		},
	});
	await refuse("createPersonalApiKey", 400, { body: { label: "Nightly report", scopes: [] } });
	await refuse("listProjects", 401, { key: null });
	await refuse("listOrganizations", 403, { key: value });
	const parameters = { id: String(id) };
	await record("getPersonalApiKey", { parameters });
	await record("updatePersonalApiKey", { parameters, body: { label: "Weekly report" } });
	await record("rollPersonalApiKey", { parameters, body: { overlap: "1h" } });
	await record("listPersonalApiKeys");
	await record("listPersonalApiKeyUsage", { parameters });
	await record("revokePersonalApiKey", { parameters, headers: RECEIPT });
}

export async function serviceAccounts({ record }: Recorder) {
	const { id: account } = await record("createServiceAccount", { body: { name: "Deployments" } });
	const ofAccount = { id: String(account) };
	await record("getServiceAccount", { parameters: ofAccount });
	await record("updateServiceAccount", { parameters: ofAccount, body: { level: 8 } });
	await record("listServiceAccounts");
	const within = { service_account_id: String(account) };
	const { id } = await record("createServiceAccountKey", {
		parameters: within,
		body: {
			label: "Continuous deployment",
			scopes: ["plugin:write"],
			allowed_ips: ["203.0.113.0/24"],
			expires_at: "2031-01-01T00:00:00.000Z",
		},
	});
	const parameters = { ...within, id: String(id) };
	await record("getServiceAccountKey", { parameters });
	await record("updateServiceAccountKey", { parameters, body: { label: "Deployment" } });
	await record("rollServiceAccountKey", { parameters, body: { overlap: "24h" } });
	await record("listServiceAccountKeys", { parameters: within });
	await record("listServiceAccountKeyUsage", { parameters });
	await record("revokeServiceAccountKey", { parameters, headers: RECEIPT });
	const trusted = await record("createTrustedIssuer", {
		parameters: within,
		body: {
			name: "Deployment of main",
			issuer: "https://token.actions.githubusercontent.com",
			subject: "repo:octo-org/website:ref:refs/heads/main",
			claims: { repository_owner_id: "1234567" },
			scopes: ["plugin:write"],
		},
	});
	const ofTrusted = { ...within, id: String(trusted.id) };
	await record("getTrustedIssuer", { parameters: ofTrusted });
	await record("updateTrustedIssuer", {
		parameters: ofTrusted,
		body: { subject: "repo:octo-org/website:environment:production" },
	});
	await record("listTrustedIssuers", { parameters: within });
	await record("deleteTrustedIssuer", { parameters: ofTrusted });
	await record("deleteServiceAccount", { parameters: ofAccount, headers: RECEIPT });
}

export async function oauthClients({ record, refuse }: Recorder) {
	const body = { name: "Notes", redirect_uris: ["https://notes.example.com/callback"] };
	const { id } = await record("createOauthClient", { body });
	await refuse("createOauthClient", 400, { body: { ...body, redirect_uris: ["javascript:x"] } });
	const parameters = { id: String(id) };
	await record("getOauthClient", { parameters });
	await record("updateOauthClient", { parameters, body: { name: "Team notes" } });
	await record("listOauthClients");
	await record("deleteOauthClient", { parameters });
}

export async function service({ record }: Recorder) {
	await record("getService", { key: null });
	await record("getHealth", { key: null });
}
