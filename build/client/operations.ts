/** Maps the operations of the OpenAPI document to the resources and methods of the client. */
import { document, resolve } from "./document.ts";
import type { Operation, Schema } from "./schema.ts";

/** Resources whose name isn't the plural of what a `create…` operation creates. */
const OTHER_RESOURCES: Record<string, string> = {
	Access: "access",
	ProjectMember: "projectMembers",
	RoleMember: "roleMembers",
	ProjectActivity: "projectActivityLog",
	Member: "members",
	Notifications: "notifications",
	Activity: "activityLog",
	Plugin: "plugins",
	Destination: "pipelineDestinations",
	FrontendApp: "pipelineFrontendApps",
	ImportApp: "pipelineImportApps",
	Event: "events",
	FeedEvent: "feed",
	User: "users",
	Identities: "identities",
	Identity: "identities",
	MemberIdentities: "memberIdentities",
	MemberIdentity: "memberIdentities",
	TwoFactor: "twoFactor",
	ScimGroup: "scimGroups",
	ScimRequest: "scimRequests",
	SignIn: "signIn",
	Session: "sessions",
	OauthGrant: "oauthGrants",
	OrganizationOauthGrant: "organizationOauthGrants",
	AppRequest: "appRequests",
	DeviceRequest: "deviceRequests",
	Service: "service",
	Health: "health",
	Attention: "attention",
	Credential: "credentials",
	OrganizationPluginConfig: "organizationPluginConfigs",
};

const lower = (word: string) => word.charAt(0).toLowerCase() + word.slice(1);

/** The objects that `create…` operations create, except those that create several. */
const created = Object.values(document.paths)
	.flatMap((methods) => Object.values(methods))
	.flatMap(({ operationId }) => /^create(\w+[^s])$/.exec(operationId)?.[1] ?? []);

/**
 * The client's resources, by the word for the object in operation ids: `listMembers` has `Member`,
 * so it is `members.list`.
 */
const RESOURCES: Record<string, string> = {
	...Object.fromEntries(created.map((word) => [word, `${lower(word)}s`])),
	...OTHER_RESOURCES,
};

/** The client's names for parameters in paths. */
const PARAMETERS: Record<string, string> = {
	organization_id: "organization",
	project_id: "project",
	domain_id: "domain",
	plugin_config_id: "id",
	service_account_id: "account",
	token_id: "token",
	group_id: "group",
	run_id: "run",
	backfill_id: "backfill",
	delivery_id: "delivery",
	deleted_id: "id",
	user__uuid: "user",
	user_uuid: "user",
	uuid: "user",
	id: "id",
	token: "token",
	name: "name",
};

export const parameterName = (name: string) => {
	const known = PARAMETERS[name];
	if (!known) throw new Error(`build/client/operations.ts lacks the parameter ${name}.`);
	return known;
};

export type Call = {
	operation: Operation;
	resource: string;
	method: string;
	verb: string;
	/** The path, with the client's names for parameters. */
	path: string;
	/** The schema of the first successful response. */
	response: Schema | undefined;
	/** The schema of the receipt that a revocation returns on request. */
	receipt: Schema | undefined;
	media: string | undefined;
	/** The schema of the items, if the response is a page of a list. */
	item: Schema | undefined;
	body: Schema | undefined;
};

/**
 * Returns the word for the object in an operation id: the first one, and the longest of those that
 * start there.
 */
function wordOf(id: string) {
	const [word] = Object.keys(RESOURCES)
		.map((word) => ({ word, at: id.indexOf(word) }))
		.filter(({ at }) => at > 0)
		.sort((a, b) => a.at - b.at || b.word.length - a.word.length);
	if (!word) throw new Error(`build/client/operations.ts has no resource for ${id}.`);
	return word.word;
}

function callOf(path: string, verb: string, operation: Operation): Call {
	const word = wordOf(operation.operationId);
	const { 204: empty, ...others } = operation.responses;
	const success = empty ?? Object.entries(others).find(([status]) => status.startsWith("2"))?.[1];
	const [media, content] = Object.entries(success?.content ?? {})[0] ?? [];
	const response = content?.schema;
	const properties = response && resolve(response).properties;
	return {
		operation,
		resource: RESOURCES[word] ?? "",
		method: lower(operation.operationId.replace(new RegExp(`${word}s?`), "")),
		verb: verb.toUpperCase(),
		path: path.replace(/\{(\w+)\}/g, (_, name: string) => `{${parameterName(name)}}`),
		response,
		receipt: empty && others[200]?.content?.["application/json"]?.schema,
		media,
		item: verb === "get" && properties?.next ? properties.results?.items : undefined,
		body: operation.requestBody?.content["application/json"]?.schema,
	};
}

function checkArguments({ operation, verb, path, body }: Call) {
	const names = operation.parameters.map((parameter) =>
		parameter.in === "path" ? parameterName(parameter.name) : parameter.name,
	);
	if (new Set(names).size < names.length)
		throw new Error(`${verb} ${path} has two parameters with the same name.`);
	if (operation.requestBody && !body)
		throw new Error(`${verb} ${path} has a body that isn't JSON.`);
}

/** Whether the response of a call is a file, whose bytes the caller reads. */
export const isFile = ({ response }: Call) => response?.format === "binary";

const isForBrowsers = ({ responses }: Operation) =>
	responses["200"]?.content?.["text/html"] !== undefined ||
	responses["200"]?.content?.["text/xml"] !== undefined ||
	responses["303"] !== undefined;

/**
 * Returns all calls. If `createInvite` and `createInvites` would both be `create`, the second is
 * `createMany`.
 */
export function calls() {
	const found = Object.entries(document.paths)
		.filter(([path]) => path !== "/openapi.json")
		.flatMap(([path, methods]) =>
			Object.entries(methods)
				.filter(([, operation]) => !isForBrowsers(operation))
				.map(([verb, operation]) => callOf(path, verb, operation)),
		);
	const taken = new Set<string>();
	for (const call of found) {
		checkArguments(call);
		if (taken.has(`${call.resource}.${call.method}`)) call.method += "Many";
		const name = `${call.resource}.${call.method}`;
		if (taken.has(name)) throw new Error(`Two operations have the name ${name}.`);
		taken.add(name);
	}
	return found;
}
