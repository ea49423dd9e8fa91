/** The keys of an owner: the signed-in user, or a service account. Their pages are the same. */
import type {
	CreatePersonalApiKeyBody,
	KeyDay,
	Organization,
	Page,
	PersonalApiKey,
	Received,
	RequestOptions,
	ServiceAccount,
	UpdatePersonalApiKeyBody,
} from "tenantry-client";
import { PreconditionFailedError } from "tenantry-client";
import { api, isByMail, me } from "../../session.ts";

type Options = Pick<RequestOptions, "signal">;

/** Something that a key can be restricted to. */
type Named<Id> = { id: Id; name: string };

export type Keys<K extends PersonalApiKey> = {
	/** The id of the organization that the keys are for; undefined if they are for all of the owner's. */
	organization: string | undefined;
	/** What its keys can be restricted to. */
	organizations: () => readonly Named<string>[];
	projects: (options?: Options) => Promise<readonly (Named<number> & { organization: string })[]>;
	/** Links to the pages above those of a key. */
	above: readonly (readonly [path: string, words: string])[];
	/** The path of a page: "new", a key's id, or one below it. */
	to: (path: string) => string;
	list: (page: { limit: number; offset: number }, options: Options) => PromiseLike<Page<K>>;
	get: (id: string, options?: Options) => Promise<K>;
	create: (body: CreatePersonalApiKeyBody) => Promise<PersonalApiKey>;
	/** Sends the ETag of a key that `get` returned. */
	update: (key: K, changes: UpdatePersonalApiKeyBody) => Promise<K>;
	roll: (key: K) => Promise<PersonalApiKey>;
	revoke: (key: K) => Promise<unknown>;
	/** The days on which a key was used; 90 at most. */
	usage: (id: string, options: Options) => PromiseLike<Page<KeyDay>>;
};

/** How long the service keeps the days of a key. */
export const USAGE_DAYS = 90;

export const ownKeys: Keys<Received<PersonalApiKey, "personalApiKeys">> = {
	organization: undefined,
	organizations: () => me.value?.organizations ?? [],
	projects: async (options) => (await api.projects.list({ limit: 1000 }, options)).results,
	above: [["/console/keys", "API keys"]],
	to: (path) => `/console/keys/${path}`,
	list: (page, options) => api.personalApiKeys.list(page, options),
	get: (id, options) => api.personalApiKeys.get({ id }, options),
	create: (body) => api.personalApiKeys.create(body),
	update: (key, changes) => api.personalApiKeys.update(key, changes),
	roll: (key) => api.personalApiKeys.roll(key),
	revoke: (key) => api.personalApiKeys.revoke(key),
	usage: (id, options) => api.personalApiKeys.listUsage({ id, limit: USAGE_DAYS }, options),
};

/** @param path of the account's page */
export function keysOf(
	{ id: organization, teams }: Pick<Organization, "id" | "teams">,
	{ id: account, name }: Pick<ServiceAccount, "id" | "name">,
	path: string,
): Keys<Received<PersonalApiKey, "serviceAccountKeys">> {
	const its = { organization, account };
	return {
		organization,
		organizations: () => [],
		projects: async () => teams,
		above: [
			[path.slice(0, path.lastIndexOf("/")), "Service accounts"],
			[path, name],
		],
		to: (page) => `${path}/keys/${page}`,
		list: (page, options) => api.serviceAccountKeys.list({ ...its, ...page }, options),
		get: (id, options) => api.serviceAccountKeys.get({ ...its, id }, options),
		create: (body) => api.serviceAccountKeys.create(its, body),
		update: (key, changes) => api.serviceAccountKeys.update(key, changes),
		roll: (key) => api.serviceAccountKeys.roll(key),
		revoke: (key) => api.serviceAccountKeys.revoke(key),
		usage: (id, options) =>
			api.serviceAccountKeys.listUsage({ ...its, id, limit: USAGE_DAYS }, options),
	};
}

/**
 * The key of this session, as far as it limits other keys; undefined if its scopes don't let it see
 * itself. A session that began with a mail expires, but may make keys that last longer.
 */
export const getCurrentKey = (options?: Options): Promise<PersonalApiKey | undefined> =>
	api.personalApiKeys.get({ id: "@current" }, options).then(
		(key) => (isByMail() ? { ...key, expires_at: null } : key),
		() => undefined,
	);

/** What people set of a key, as text to compare. */
const settingsOf = (key: PersonalApiKey) =>
	JSON.stringify([
		key.label,
		key.scopes,
		key.scoped_organizations,
		key.scoped_projects,
		key.allowed_ips,
		key.expires_at,
	]);

/**
 * Changes a key, unless somebody else changed it since it was read. Its use changes it, too, but isn't
 * anybody's change.
 */
export async function updateUnlessChanged<K extends PersonalApiKey>(
	keys: Keys<K>,
	key: K,
	changes: UpdatePersonalApiKeyBody,
) {
	try {
		return await keys.update(key, changes);
	} catch (error) {
		if (!(error instanceof PreconditionFailedError)) throw error;
		const current = await keys.get(key.id);
		if (settingsOf(current) !== settingsOf(key)) throw error;
		return keys.update(current, changes);
	}
}
