/**
 * The types of sinks. Whatever depends on the type follows from this table: the settings that are
 * accepted, which are secret, the OpenAPI document, and the forms of the console.
 */
import { type Configurable, typesOf } from "../../../exports/destinations/definition.ts";
import { DESTINATIONS } from "../../../exports/destinations/index.ts";
import { settingsOf } from "../../../exports/destinations/settings.ts";
import { MisconfiguredError } from "../../../outbound/errors.ts";
import { inBucket } from "./buckets.ts";
import { datadog } from "./datadog.ts";
import { http } from "./http.ts";
import { sentinel } from "./sentinel.ts";
import type { Sink, Written } from "./sink.ts";
import { splunk } from "./splunk.ts";

export const SINKS = {
	S3: inBucket(DESTINATIONS.S3),
	R2: inBucket(DESTINATIONS.R2),
	GCS: inBucket(DESTINATIONS.GCS),
	AzureBlob: inBucket(DESTINATIONS.AzureBlob),
	HTTP: http,
	SplunkHEC: splunk,
	Datadog: datadog,
	Sentinel: sentinel,
};

type Type = keyof typeof SINKS;

/** The properties of all types, for a type that is only known when the code runs. */
type Entry = Configurable & {
	title: string;
	kind: string;
	place: string | null;
	test: string[];
	isOwn?: boolean;
	open(env: Env, stream: Written, timeoutMs: number): Promise<Sink>;
};

export const { TYPES, definitionOf } = typesOf<Type, Entry>(SINKS);

export const { parse, shown, opened, sealed, merged, serverOf, removedSecrets } = settingsOf({
	types: TYPES,
	find: definitionOf,
});

/**
 * Opens the sink of a stream.
 * @param stream with decrypted secrets
 * @param timeoutMs how long the server may send no data, in milliseconds
 * @throws MisconfiguredError if the type or its settings aren't valid any more
 */
export async function openSink(env: Env, stream: Written, timeoutMs: number): Promise<Sink> {
	const { type } = stream.destination;
	const definition = definitionOf(type);
	if (!definition) throw new MisconfiguredError(`There is no sink "${type}".`);
	return definition.open(env, stream, timeoutMs);
}
