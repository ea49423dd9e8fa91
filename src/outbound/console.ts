/*
 * THE TABLE OF THE CONSOLE'S ADDRESSES: where mails, messages and redirects lead. Their pages are in
 * packages/console/src/pages.ts, which test/outbound/console.unit.test.ts compares with it.
 */

/** Pages of the signed-in user. */
export const ownPages = {
	overview: "/console",
	signIn: "/console/sign_in",
	oauth: "/console/oauth",
	accept: "/console/accept",
	account: "/console/account",
	keys: "/console/keys",
	key: (id: string) => `/console/keys/${id}`,
};

/** Pages of an organization. */
export function consoleOf(organization: string) {
	const at = `/console/${organization}`;
	const batchExport = (id: string) => `${at}/batch_exports/${id}`;
	const pluginConfig = (project: string, id: string) => `${at}/plugin_configs/${project}/${id}`;
	return {
		overview: at,
		members: `${at}/members`,
		/** The list of members, with those whose name or address contains a text. */
		memberWith: (search: string) => `${at}/members?search=${encodeURIComponent(search)}`,
		notifications: `${at}/notifications`,
		activity: `${at}/activity`,
		events: `${at}/activity/events`,
		project: (id: string) => `${at}/projects/${id}`,
		domain: (id: string) => `${at}/domains/${id}`,
		plugin: (id: string) => `${at}/plugins/${id}`,
		pluginConfig,
		configLog: (project: string, id: string) => `${pluginConfig(project, id)}/log`,
		batchExport,
		run: (export_id: string, id: string) => `${batchExport(export_id)}/runs/${id}`,
		accountKey: (account: string, id: string) => `${at}/service_accounts/${account}/keys/${id}`,
		webhook: (id: string) => `${at}/webhooks/${id}`,
		auditStream: (id: string) => `${at}/audit_streams/${id}`,
	};
}
