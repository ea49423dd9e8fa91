/* What the endpoint says about itself (RFC 7643, sections 5 to 7). */

const core = (name: string) => `urn:ietf:params:scim:schemas:core:2.0:${name}`;

const supported = (is: boolean) => ({ supported: is });

const meta = (url: string, resourceType: string, path: string) => ({
	resourceType,
	location: `${url}/${path}`,
});

/** @param url the base URL of the endpoint */
export const serviceProviderConfig = (url: string) => ({
	schemas: [core("ServiceProviderConfig")],
	documentationUri: new URL("/docs/sign-on#scim", url).href,
	patch: supported(true),
	bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
	filter: { supported: true, maxResults: 200 },
	changePassword: supported(false),
	sort: supported(false),
	etag: supported(true),
	authenticationSchemes: [
		{
			type: "oauthbearertoken",
			name: "Token of the domain",
			description: "The header `Authorization: Bearer <token>`.",
			primary: true,
		},
	],
	meta: meta(url, "ServiceProviderConfig", "ServiceProviderConfig"),
});

const resourceType = (url: string, name: string, endpoint: string, description: string) => ({
	schemas: [core("ResourceType")],
	id: name,
	name,
	endpoint,
	description,
	schema: core(name),
	meta: meta(url, "ResourceType", `ResourceTypes/${name}`),
});

export const resourceTypes = (url: string) => [
	resourceType(url, "User", "/Users", "A person of the domain"),
	resourceType(url, "Group", "/Groups", "A group of people"),
];

const attribute = (name: string, description: string, more: object = {}) => ({
	name,
	type: "string",
	multiValued: false,
	description,
	required: false,
	caseExact: false,
	mutability: "readWrite",
	returned: "default",
	uniqueness: "none",
	...more,
});

const READ_ONLY = { mutability: "readOnly" };
const BOOLEAN = { type: "boolean" };
const REFERENCE = { type: "reference", caseExact: true };

const NAME = [
	attribute("formatted", "The whole name"),
	attribute("familyName", "The family name"),
	attribute("givenName", "The given name"),
];

const EMAIL = [
	attribute("value", "The address", READ_ONLY),
	attribute("type", "Always `work`", READ_ONLY),
	attribute("primary", "Always true", { ...READ_ONLY, ...BOOLEAN }),
];

const GROUP = [
	attribute("value", "The id of the group", READ_ONLY),
	attribute("$ref", "The URL of the group", {
		...READ_ONLY,
		...REFERENCE,
		referenceTypes: ["Group"],
	}),
	attribute("display", "The name of the group", READ_ONLY),
	attribute("type", "Always `direct`", READ_ONLY),
];

const USER = [
	attribute("userName", "The email address, which is in the domain", {
		required: true,
		uniqueness: "server",
	}),
	attribute("name", "The parts of the name", { type: "complex", subAttributes: NAME }),
	attribute("displayName", "The name to show"),
	attribute("active", "Whether the person is a member. True if it is missing in a POST.", {
		...BOOLEAN,
		required: true,
	}),
	attribute("emails", "The userName", {
		type: "complex",
		multiValued: true,
		...READ_ONLY,
		subAttributes: EMAIL,
	}),
	attribute("groups", "The groups that the person is in", {
		type: "complex",
		multiValued: true,
		...READ_ONLY,
		subAttributes: GROUP,
	}),
];

const MEMBER = [
	attribute("value", "The id of the user", { mutability: "immutable" }),
	attribute("$ref", "The URL of the user", {
		...REFERENCE,
		mutability: "immutable",
		referenceTypes: ["User"],
	}),
	attribute("type", "Always `User`", { mutability: "immutable", canonicalValues: ["User"] }),
];

const schema = (url: string, name: string, description: string, attributes: object[]) => ({
	schemas: [core("Schema")],
	id: core(name),
	name,
	description,
	attributes,
	meta: meta(url, "Schema", `Schemas/${core(name)}`),
});

export const schemas = (url: string) => [
	schema(url, "User", "A person of the domain", USER),
	schema(url, "Group", "A group of people", [
		attribute("displayName", "The name of the group", { required: true, uniqueness: "server" }),
		attribute("members", "The people in the group", {
			type: "complex",
			multiValued: true,
			subAttributes: MEMBER,
		}),
	]),
];
