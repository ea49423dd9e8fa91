import * as z from "zod";
import { invalid } from "../../http/errors.ts";
import { sendRequest } from "../../outbound/fetch.ts";

const Listed = z.object({
	name: z
		.string()
		.describe(
			"The plugin's name in the repository, which may differ from the one in its `plugin.json`.",
		),
	url: z.string().describe("The URL to install the plugin from: the `url` of a new plugin."),
	description: z.string().describe("What the plugin does."),
	verified: z.boolean().describe("Whether the repository marks the plugin as verified."),
	maintainer: z.string().describe("Who publishes the plugin."),
	type: z
		.string()
		.describe(
			"The kind of plugin, as named by the repository, such as `data_in`, `data_out`, `data_enrichment` or `other`.",
		),
	icon: z.string().nullable().default(null).describe("The icon; null for none."),
});

/** An entry of the list of plugins to install (docs/plugins.md#installing-from-a-url). */
export const RepositoryEntry = Listed.extend({
	installed: z
		.boolean()
		.describe("Whether your organization has installed the plugin from this `url`."),
}).meta({
	id: "RepositoryEntry",
});

const TIMEOUT_MS = 5000;

/** Returns the list of plugins to install. Throws 400 if it can't be fetched or is invalid. */
export async function repository(env: Env) {
	const { PLUGIN_REPOSITORY_URL: url } = env;
	if (url === "") return BUNDLED;
	const signal = AbortSignal.timeout(TIMEOUT_MS);
	const response = await sendRequest(env, new Request(url), { signal }).catch(() => undefined);
	if (!response?.ok) throw invalid(null, "Could not reach the plugin repository.");
	const list = z.array(Listed).safeParse(await response.json().catch(() => null));
	if (!list.success) throw invalid(null, "The plugin repository did not return a list of plugins.");
	return list.data;
}

/** Plugins on GitHub: path, name, type, and a description that was written for this list. */
const PUBLISHED = [
	[
		"PostHog/posthog-plugin-geoip",
		"GeoIP",
		"data_enrichment",
		"Adds the location of an IP address to events and persons.",
	],
	[
		"PostHog/posthog-plugin-replicator",
		"Replicator",
		"data_out",
		"Forwards every event to a second instance.",
	],
	[
		"PostHog/posthog-plugin-migrator3000",
		"Migrator 3000",
		"data_in",
		"Imports events from another instance, starting at a given date.",
	],
	[
		"PostHog/posthog-plugin-starter-kit",
		"Starter kit",
		"other",
		"A minimal plugin to start your own from.",
	],
	[
		"visionect/posthog-plugin-snowplow-referer-parser",
		"Referer parser",
		"data_enrichment",
		"Detects which search engine or social network an event's referrer is.",
	],
	[
		"everald/posthog-plugin-url-parameter-to-event-properties",
		"URL parameters",
		"data_enrichment",
		"Turns URL parameters into event properties.",
	],
	[
		"leggetter/posthog-plugin-rss-annotator",
		"RSS annotator",
		"data_in",
		"Creates an annotation for each new entry of an RSS feed.",
	],
	[
		"benjackwhite/posthog-plugin-appfigures",
		"Appfigures",
		"data_in",
		"Imports an app's reviews and ratings as events.",
	],
	[
		"laudspeaker/laudspeaker-posthog-plugin",
		"Laudspeaker",
		"data_out",
		"Forwards events to Laudspeaker, a customer messaging service.",
	],
] as const;

const BUNDLED: z.infer<typeof Listed>[] = PUBLISHED.map(([path, name, type, description]) => ({
	name,
	url: `https://github.com/${path}`,
	description,
	verified: path.startsWith("PostHog/"),
	maintainer: path.replace(/\/.*/, ""),
	type,
	icon: null,
}));
