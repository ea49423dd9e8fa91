import * as z from "zod";
import { invalid } from "../../http/errors.ts";

const Listed = z.object({
	name: z.string(),
	url: z.string(),
	description: z.string(),
	verified: z.boolean(),
	maintainer: z.string(),
	type: z.string(),
	icon: z.string().nullable().default(null),
});

/** An entry of the list of plugins to install (docs/plugins.md#installing-from-a-url). */
export const RepositoryEntry = Listed.extend({ installed: z.boolean() }).meta({
	id: "RepositoryEntry",
});

const TIMEOUT_MS = 5000;

/**
 * Returns the list at `PLUGIN_REPOSITORY_URL`, or the bundled list if the setting is empty.
 * @throws 400 if the list can't be fetched or is invalid
 */
export async function repository({ PLUGIN_REPOSITORY_URL: url }: Env) {
	if (url === "") return BUNDLED;
	const unreachable = () => invalid(null, "Could not reach the plugin repository.");
	const response = await fetch(url, {
		signal: AbortSignal.timeout(TIMEOUT_MS),
	}).catch(unreachable);
	if (!(response instanceof Response) || !response.ok) throw unreachable();
	const list = z.array(Listed).safeParse(await response.json().catch(() => null));
	if (!list.success) throw invalid(null, "The plugin repository did not return a list of plugins.");
	return list.data;
}

const githubEntry = (
	name: string,
	path: string,
	type: string,
	verified: boolean,
	description: string,
) => ({
	name,
	url: `https://github.com/${path}`,
	description,
	verified,
	maintainer: path.replace(/\/.*/, ""),
	type,
	icon: null,
});

/** Published plugins. The descriptions were written for this list. */
const BUNDLED: z.infer<typeof Listed>[] = [
	githubEntry(
		"GeoIP",
		"PostHog/posthog-plugin-geoip",
		"data_enrichment",
		true,
		"Adds the location of an IP address to events and persons.",
	),
	githubEntry(
		"Replicator",
		"PostHog/posthog-plugin-replicator",
		"data_out",
		true,
		"Forwards every event to a second instance.",
	),
	githubEntry(
		"Migrator 3000",
		"PostHog/posthog-plugin-migrator3000",
		"data_in",
		true,
		"Imports events from another instance, starting at a given date.",
	),
	githubEntry(
		"Starter kit",
		"PostHog/posthog-plugin-starter-kit",
		"other",
		true,
		"A minimal plugin to start your own from.",
	),
	githubEntry(
		"Referer parser",
		"visionect/posthog-plugin-snowplow-referer-parser",
		"data_enrichment",
		false,
		"Detects which search engine or social network an event's referrer is.",
	),
	githubEntry(
		"URL parameters",
		"everald/posthog-plugin-url-parameter-to-event-properties",
		"data_enrichment",
		false,
		"Turns URL parameters into event properties.",
	),
	githubEntry(
		"RSS annotator",
		"leggetter/posthog-plugin-rss-annotator",
		"data_in",
		false,
		"Creates an annotation for each new entry of an RSS feed.",
	),
	githubEntry(
		"Appfigures",
		"benjackwhite/posthog-plugin-appfigures",
		"data_in",
		false,
		"Imports an app's reviews and ratings as events.",
	),
	githubEntry(
		"Laudspeaker",
		"laudspeaker/laudspeaker-posthog-plugin",
		"data_out",
		false,
		"Forwards events to Laudspeaker, a customer messaging service.",
	),
];
