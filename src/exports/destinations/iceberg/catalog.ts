/**
 * A client of the Iceberg REST catalog protocol
 * (https://github.com/apache/iceberg/blob/main/open-api/rest-catalog-open-api.yaml). The library
 * iceberg-js has no commits of snapshots, and drops credentials and the ids of snapshots beyond 2^53.
 */
import * as z from "zod";
import { isCutObject, jsonOf } from "../../../lib/json.ts";
import { parseExact } from "../../../lib/lossless_json.ts";
import { MisconfiguredError, UnavailableError } from "../../../outbound/errors.ts";
import { quote } from "../../../outbound/quote.ts";
import { addressOf, type HttpResponse, sender, unavailable } from "../../../outbound/send.ts";
import type { KeySource } from "../roles/aws.ts";
import { authOf } from "./auth.ts";
import type { Settings } from "./definition.ts";

/** The metadata of a table lists its snapshots, of which there may be thousands. */
const MAX_CHARACTERS = 16 * 2 ** 20;

/** An integer of 64 bits: a bigint if a number would lose digits of it. */
const Long = z.preprocess(
	(value) => (JSON.isRawJSON(value) ? BigInt(value.rawJSON) : value),
	z.union([z.int(), z.bigint()]),
);

const SchemaBody = z.looseObject({
	"schema-id": z.int().default(0),
	fields: z.array(
		z.looseObject({ id: z.int(), name: z.string(), required: z.boolean(), type: z.unknown() }),
	),
});

const SpecBody = z.looseObject({
	"spec-id": z.int(),
	fields: z.array(
		z.looseObject({
			name: z.string(),
			transform: z.string(),
			"source-id": z.int(),
			"field-id": z.int(),
		}),
	),
});

const SnapshotBody = z.object({
	"snapshot-id": Long,
	"manifest-list": z.string().optional(),
	summary: z.record(z.string(), z.string()).default({}),
});

const MetadataBody = z.object({
	"format-version": z.int(),
	"table-uuid": z.string(),
	location: z.string(),
	"last-sequence-number": z.int().default(0),
	"current-schema-id": z.int().default(0),
	schemas: z.array(SchemaBody).default([]),
	"default-spec-id": z.int().default(0),
	"partition-specs": z.array(SpecBody).default([]),
	properties: z.record(z.string(), z.string()).default({}),
	"last-updated-ms": z.number().default(0),
	"current-snapshot-id": Long.nullish(),
	snapshots: z.array(SnapshotBody).default([]),
});

const Strings = z.record(z.string(), z.string()).default({});

const TableBody = z.object({
	metadata: MetadataBody,
	config: Strings,
	"storage-credentials": z
		.array(z.object({ prefix: z.string(), config: Strings }))
		.nullish()
		.transform((list) => list ?? []),
});

export type Metadata = z.output<typeof MetadataBody>;
export type LoadedTable = z.output<typeof TableBody>;

/** What a new table has. */
export type NewTable = { schema: object; spec: object; properties: Record<string, string> };

const ConfigBody = z.object({ defaults: Strings, overrides: Strings });

const ErrorBody = z.object({
	error: z.object({ message: z.string().default(""), type: z.string().default("") }),
});

/** "Credentials have timed out", of this protocol. */
const AUTHENTICATION_TIMEOUT = 419;

const MEANINGS: Record<number, string> = {
	401: "The catalog rejects the credentials.",
	403: "The catalog doesn't allow this with these credentials.",
	[AUTHENTICATION_TIMEOUT]: "The catalog says that the credentials have expired: give new ones.",
};

type Options = { body?: unknown; headers?: Record<string, string> };

/** Writes integers of 64 bits with all their digits. */
const written = (body: unknown) =>
	JSON.stringify(body, (_, value: unknown) =>
		typeof value === "bigint" ? JSON.rawJSON(String(value)) : value,
	);

/** What the catalog and the files are reached with. */
export type Connection = {
	env: Env;
	config: Settings;
	/** How long a server may send no data. */
	timeoutMs: number;
	/** The keys of the settings, or of their role. */
	keys: KeySource;
};

/** Whether files are written with keys of one's own, not with those that the catalog gives. */
export const hasOwnKeys = ({ aws_access_key_id, role_arn }: Settings) =>
	Boolean(aws_access_key_id || role_arn);

export type Catalog = ReturnType<typeof catalogOf>;

export function catalogOf({ env, config, timeoutMs, keys }: Connection) {
	const { namespace, warehouse } = config;
	const table_name = config.table_name ?? "events";
	const name = `${namespace}.${table_name}`;
	const server = sender(env, timeoutMs, MAX_CHARACTERS);
	const auth = authOf(server, config, keys);
	const root = `${config.catalog_uri.replace(/\/$/, "")}/v1`;
	const address = addressOf(new URL(root));
	/** Credentials of one's own don't need those of the catalog. */
	const delegation: Record<string, string> = hasOwnKeys(config)
		? {}
		: { "x-iceberg-access-delegation": "vended-credentials" };
	let base: string | undefined;

	async function request(method: string, url: string, options: Options = {}, isRepeated = false) {
		const body = options.body === undefined ? undefined : written(options.body);
		const headers = {
			accept: "application/json",
			...(body !== undefined && { "content-type": "application/json" }),
			...options.headers,
		};
		const sent = await auth.request(url, { method, headers, body });
		const response = await server.send(sent, auth.secrets());
		const isExpired = [401, AUTHENTICATION_TIMEOUT].includes(response.status);
		if (isExpired && !isRepeated && auth.renew()) return request(method, url, options, true);
		return response;
	}

	/** Returns the error in a response that isn't successful. */
	function problemOf(response: HttpResponse) {
		const { status, text } = response;
		const { success, data } = ErrorBody.safeParse(jsonOf(text));
		if (!success && !MEANINGS[status])
			return new MisconfiguredError(
				`The server isn't an Iceberg REST catalog: check catalog_uri. ${response.describe()}`,
			);
		const message = data?.error.message || `status ${status}`;
		return new MisconfiguredError(
			[MEANINGS[status], `${address} says: ${quote(auth.secrets(), message)}`]
				.filter(Boolean)
				.join(" "),
		);
	}

	/** Returns the body of a successful response. */
	function bodyOf<S extends z.ZodType>(shape: S, response: HttpResponse): z.output<S> {
		const { status, text, isCut } = response;
		if (status >= 300) throw problemOf(response);
		if (isCut)
			throw new MisconfiguredError(
				`The metadata of the table ${name} is too large: expire old snapshots.`,
			);
		const { success, data } = shape.safeParse(
			jsonOf(text) === undefined ? undefined : parseExact(text),
		);
		if (success) return data;
		throw isCutObject(text)
			? unavailable(response)
			: new MisconfiguredError(
					`The server isn't an Iceberg REST catalog: check catalog_uri. ${response.describe()}`,
				);
	}

	async function signIn() {
		const query = warehouse ? `?warehouse=${encodeURIComponent(warehouse)}` : "";
		const response = await request("GET", `${root}/config${query}`);
		const { defaults, overrides } = bodyOf(ConfigBody, response);
		const prefix = overrides.prefix ?? defaults.prefix;
		base = [root, ...(prefix ? [prefix.replace(/^\/|\/$/g, "")] : [])].join("/");
		return base;
	}

	/** The levels of a namespace are separated by U+001F. */
	const namespaceUrl = async () =>
		`${base ?? (await signIn())}/namespaces/${encodeURIComponent(namespace.replaceAll(".", "\u001f"))}`;

	const tables = async () => `${await namespaceUrl()}/tables`;

	const tableUrl = async () => `${await tables()}/${encodeURIComponent(table_name)}`;

	function noNamespace(response: HttpResponse) {
		const problem = problemOf(response);
		return new MisconfiguredError(`There is no namespace ${namespace}. ${problem.message}`);
	}

	return {
		name,
		address,
		signIn,

		/** @throws if the catalog doesn't respond; the status doesn't matter */
		reach: () => server.exchange(new Request(`${root}/config`), []),

		/**
		 * Returns the table; null if it doesn't exist.
		 * @param history whether with all its snapshots, or only the current one
		 */
		async load(history = false): Promise<LoadedTable | null> {
			const url = `${await tableUrl()}${history ? "" : "?snapshots=refs"}`;
			const response = await request("GET", url, { headers: delegation });
			return response.status === 404 ? null : bodyOf(TableBody, response);
		},

		/** @throws MisconfiguredError if the namespace doesn't exist. Other errors don't matter. */
		async checkNamespace() {
			const response = await request("GET", await namespaceUrl());
			if (response.status === 404) throw noNamespace(response);
		},

		/**
		 * Creates the table.
		 * @param isStaged whether it is only prepared, as a test does
		 * @returns null if the table exists, or if the catalog doesn't prepare tables
		 */
		async create({ schema, spec, properties }: NewTable, isStaged = false) {
			const response = await request("POST", await tables(), {
				headers: delegation,
				body: {
					name: table_name,
					schema,
					"partition-spec": spec,
					properties,
					"stage-create": isStaged,
				},
			});
			if (response.status === 409 || (isStaged && response.status === 400)) return null;
			if (response.status === 404) throw noNamespace(response);
			return bodyOf(TableBody, response);
		},

		/**
		 * Commits changes of the table.
		 * @returns false if the requirements don't hold, because somebody else has changed the table
		 * @throws MisconfiguredError if nothing was committed; another error if this is unknown
		 */
		async commit(requirements: object[], updates: object[]): Promise<boolean> {
			const identifier = { namespace: namespace.split("."), name: table_name };
			const body = { identifier, requirements, updates };
			const response = await request("POST", await tableUrl(), { body });
			if (response.status === 409) return false;
			if (response.status >= 300) throw problemOf(response);
			// Whoever isn't a catalog may have done anything.
			const { success } = z.object({ metadata: z.unknown() }).safeParse(jsonOf(response.text));
			if (!success && !response.isCut)
				throw new UnavailableError(
					`It is unknown whether the catalog has committed. ${response.describe()}`,
				);
			return true;
		},
	};
}
