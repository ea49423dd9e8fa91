/** The keys of the signed-in user or of a service account, which have the same pages. */
import type {
	CreatePersonalApiKeyBody,
	KeyDay,
	Organization,
	Page,
	PersonalApiKey,
	RequestOptions,
	RollPersonalApiKeyBody,
	ServiceAccount,
	UpdatePersonalApiKeyBody,
} from "tenantry-client";
import { PreconditionFailedError } from "tenantry-client";
import { MAX_ROWS } from "../../load.ts";
import { api, isWithKey, me } from "../../session.ts";

type Options = Pick<RequestOptions, "signal">;

/** An organization or project that a key can be restricted to. */
type Named<Id> = { id: Id; name: string };

export type Keys<K extends PersonalApiKey> = {
	/** The id of the service account's organization; undefined for the user's own keys. */
	organization: string | undefined;
	/** The organizations that a key can be restricted to. */
	organizations: () => readonly Named<string>[];
	projects: (options?: Options) => Promise<readonly (Named<number> & { organization: string })[]>;
	/** Links to the parent pages. */
	above: readonly (readonly [path: string, words: string])[];
	/** Returns the path of a page: "new", the id of a key, or a page below it. */
	to: (path: string) => string;
	list: (page: { limit: number; offset: number }, options: Options) => PromiseLike<Page<K>>;
	get: (id: string, options?: Options) => Promise<K>;
	create: (body: CreatePersonalApiKeyBody) => Promise<PersonalApiKey>;
	/** Sends the ETag of a key that `get` returned. */
	update: (key: K, changes: UpdatePersonalApiKeyBody) => Promise<K>;
	roll: (key: K, body: RollPersonalApiKeyBody) => Promise<PersonalApiKey>;
	revoke: (key: K) => Promise<unknown>;
	/** Returns the days on which a key was used, at most 90. */
	usage: (id: string, options: Options) => PromiseLike<Page<KeyDay>>;
};

/** The values of the form of a key. */
export type KeySettings = Required<Omit<CreatePersonalApiKeyBody, "scoped_teams">>;

/** The number of days that the service keeps. */
export const USAGE_DAYS = 90;

export const ownKeys: Keys<PersonalApiKey> = {
	organization: undefined,
	organizations: () => me.value?.organizations ?? [],
	projects: async (options) => (await api.projects.list({ limit: MAX_ROWS }, options)).results,
	above: [["/console/keys", "API keys"]],
	to: (path) => `/console/keys/${path}`,
	list: (page, options) => api.personalApiKeys.list(page, options),
	get: (id, options) => api.personalApiKeys.get({ id }, options),
	create: (body) => api.personalApiKeys.create(body),
	update: (key, changes) => api.personalApiKeys.update(key, changes),
	roll: (key, body) => api.personalApiKeys.roll(key, body),
	revoke: (key) => api.personalApiKeys.revoke(key),
	usage: (id, options) => api.personalApiKeys.listUsage({ id, limit: USAGE_DAYS }, options),
};

/** @param path the path of the service account's page */
export function keysOf(
	{ id: organization, teams }: Pick<Organization, "id" | "teams">,
	{ id: account, name }: Pick<ServiceAccount, "id" | "name">,
	path: string,
): Keys<PersonalApiKey> {
	const at = { organization, account };
	return {
		organization,
		organizations: () => [],
		projects: async () => teams,
		above: [
			[path.slice(0, path.lastIndexOf("/")), "Service accounts"],
			[path, name],
		],
		to: (page) => `${path}/keys/${page}`,
		list: (page, options) => api.serviceAccountKeys.list({ ...at, ...page }, options),
		get: (id, options) => api.serviceAccountKeys.get({ ...at, id }, options),
		create: (body) => api.serviceAccountKeys.create(at, body),
		update: (key, changes) => api.serviceAccountKeys.update({ ...at, ...key }, changes),
		roll: (key, body) => api.serviceAccountKeys.roll({ ...at, ...key }, body),
		revoke: (key) => api.serviceAccountKeys.revoke({ ...at, ...key }),
		usage: (id, options) =>
			api.serviceAccountKeys.listUsage({ ...at, id, limit: USAGE_DAYS }, options),
	};
}

/**
 * Returns the key that the user signed in with, which limits new keys; undefined if there is none,
 * or if its scopes don't allow reading it.
 */
export const getCurrentKey = async (options?: Options): Promise<PersonalApiKey | undefined> =>
	isWithKey()
		? api.personalApiKeys.get({ id: "@current" }, options).catch(() => undefined)
		: undefined;

/** Returns the settings of a key as text to compare. */
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
 * Updates a key, unless someone else has changed it since it was read. Using a key also changes its
 * ETag, so the settings are compared.
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
