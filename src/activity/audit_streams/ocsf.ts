/**
 * Events in the Open Cybersecurity Schema Framework (https://schema.ocsf.io/1.5.0, docs/audit.md#formats).
 */
import type { ACTIVITIES } from "../../db/event_types.ts";
import type { FeedEvent } from "../events/event.ts";

const VERSION = "1.5.0";

/** Successful, and failed. */
const STATUS = { SUCCESS: 1, FAILURE: 2 } as const;

/** No action required, and the user decides whether it is. */
const SEVERITY = { INFORMATIONAL: 1, LOW: 2 } as const;

/** The activity that no class defines. Its name is that of the event. */
const OTHER = 99;

const IAM = 3;
const APPLICATION = 6;

type Rule = {
	category_uid: number;
	class_uid: number;
	/** The class's activities for those of the event. All others are `OTHER`. */
	activities: Record<string, number>;
	/** The attributes that the class requires. */
	attributes(event: FeedEvent): object;
};

/** The type `email_t`, which allows fewer addresses than this service. */
const ADDRESS = /^[a-zA-Z0-9!#$%&'*+-/=?^_`{|}~.]+@[a-zA-Z0-9-]+\.[a-zA-Z0-9-.]+$/;

/** Returns the account of the actor; null if it has none. */
const userOf = ({ type, uuid, first_name, email, key }: FeedEvent["actor"]) =>
	uuid === null
		? null
		: {
				uid: uuid,
				name: email ?? first_name,
				...(email !== null && first_name && { full_name: first_name }),
				...(email !== null && ADDRESS.test(email) && { email_addr: email }),
				...(key && { credential_uid: key.id }),
				...(type === "service_account" && { type_id: OTHER, type: "Service account" }),
			};

/** The account that the entry is about. */
const itsUser = ({ data: { name, item_id } }: FeedEvent) => ({
	name: name || item_id || "unknown",
});

/** The account of the actor, if the entry is about something that belongs to it. */
const actingUser = (event: FeedEvent) => userOf(event.actor) ?? itsUser(event);

const SERVICE = { name: "Tenantry" };

const resourceOf = ({ scope, item_id, name, project_id }: FeedEvent["data"]) => ({
	type: scope,
	name: name || item_id || scope,
	...(item_id && { uid: item_id }),
	...(project_id !== null && { namespace: `project ${project_id}` }),
});

/** What the API reports of everything that isn't about accounts. */
const API_ACTIVITY: Rule = {
	category_uid: APPLICATION,
	class_uid: 6003,
	activities: { created: 1, updated: 3, deleted: 4 },
	attributes: (event) => ({
		api: { operation: event.type, service: SERVICE, version: event.api_version },
		resources: [resourceOf(event.data)],
	}),
};

const accountChange = (
	activities: Rule["activities"],
	user: (event: FeedEvent) => object,
): Rule => ({
	category_uid: IAM,
	class_uid: 3001,
	activities,
	attributes: (event) => ({ user: user(event) }),
});

const ACCOUNT = accountChange({ created: 1, deactivated: 5, deleted: 6 }, itsUser);

/** The activities of factors: "MFA Factor Enable" and "MFA Factor Disable". */
const FACTOR = { ENABLE: 10, DISABLE: 11 };

const authentication = (
	activities: Rule["activities"],
	user: (event: FeedEvent) => object,
): Rule => ({
	category_uid: IAM,
	class_uid: 3002,
	activities,
	attributes: (event) => ({ user: user(event), service: SERVICE }),
});

/** Levels and other values that the entry says somebody got or lost. */
const privilegesOf = ({ data: { scope, changes } }: FeedEvent) => {
	const values = changes.map(
		({ field, before, after }) => `${field}: ${JSON.stringify(after ?? before)}`,
	);
	return values.length > 0 ? values : [scope];
};

const USER_ACCESS: Rule = {
	category_uid: IAM,
	class_uid: 3005,
	activities: { created: 1, updated: 1, deleted: 2 },
	attributes: (event) => ({
		user: itsUser(event),
		privileges: privilegesOf(event),
		resources: [resourceOf(event.data)],
	}),
};

/** The scopes that aren't `API_ACTIVITY`. */
const RULES: Partial<Record<keyof typeof ACTIVITIES, Rule>> = {
	User: ACCOUNT,
	ServiceAccount: ACCOUNT,
	Identity: accountChange({}, actingUser),
	TwoFactor: accountChange({ enabled: FACTOR.ENABLE, disabled: FACTOR.DISABLE }, itsUser),
	Passkey: accountChange({ created: FACTOR.ENABLE, deleted: FACTOR.DISABLE }, actingUser),
	Session: authentication({ created: 1, deleted: 2 }, actingUser),
	SignIn: authentication({ failed: 1, break_glass_used: 1 }, itsUser),
	Member: USER_ACCESS,
	ProjectMember: USER_ACCESS,
};

const known = new Map<string, Rule>(Object.entries(RULES));

/** Whether an activity is about something that didn't succeed. */
const hasFailed = (activity: string) => /(?:^|_)(?:failed|rejected|denied)$/.test(activity);

function actorOf({ actor }: FeedEvent) {
	const { key, type } = actor;
	const user = userOf(actor);
	return {
		...(user ? { user } : { app_name: key?.label ?? type }),
		...(user && key?.kind === "app" && key.label && { app_name: key.label }),
		...(key?.kind === "session" && { session: { uid: key.id } }),
	};
}

/** Where the request came from. Of some entries, nobody knows. */
const endpointOf = ({ origin }: FeedEvent) =>
	origin?.address
		? {
				ip: origin.address,
				...(origin.country && { location: { country: origin.country } }),
			}
		: { name: "unknown" };

const requestOf = ({ origin }: FeedEvent) =>
	origin && {
		http_request: {
			...(origin.request_id && { uid: origin.request_id }),
			...(origin.user_agent && { user_agent: origin.user_agent }),
		},
	};

/**
 * Converts an event.
 * @param number its number in the stream, which is its `metadata.sequence`
 */
export function toOcsf(event: FeedEvent, number: number) {
	const { id, type, created_at, api_version, data } = event;
	const { scope, item_id, project_id, organization_id, changes, trigger } = data;
	const { category_uid, class_uid, activities, attributes } = known.get(scope) ?? API_ACTIVITY;
	const activity = type.slice(type.indexOf(".") + 1);
	const activity_id = activities[activity] ?? OTHER;
	return {
		category_uid,
		class_uid,
		activity_id,
		type_uid: class_uid * 100 + activity_id,
		...(activity_id === OTHER && { activity_name: activity }),
		time: Date.parse(created_at),
		...(hasFailed(activity)
			? { status_id: STATUS.FAILURE, severity_id: SEVERITY.LOW }
			: { status_id: STATUS.SUCCESS, severity_id: SEVERITY.INFORMATIONAL }),
		message: data.name ? `${type}: ${data.name}` : type,
		metadata: {
			version: VERSION,
			uid: id,
			sequence: number,
			event_code: type,
			original_time: created_at,
			tenant_uid: organization_id,
			...(event.origin?.request_id && { correlation_uid: event.origin.request_id }),
			log_name: "activity_log",
			log_version: api_version,
			product: { name: "Tenantry", vendor_name: "Tenantry" },
		},
		actor: actorOf(event),
		src_endpoint: endpointOf(event),
		...requestOf(event),
		...attributes(event),
		unmapped: { scope, item_id, project_id, changes, trigger },
	};
}
