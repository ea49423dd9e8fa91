import * as z from "zod";
import { invalid } from "../http/errors.ts";

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

/** The list at `PLUGIN_REPOSITORY_URL`; without one, ours. */
export async function repository({ PLUGIN_REPOSITORY_URL: url }: Env) {
	if (url === "") return BUNDLED;
	const lost = () => invalid(null, "Could not reach the plugin repository.");
	const answer = await fetch(url, {
		signal: AbortSignal.timeout(TIMEOUT_MS),
	}).catch(lost);
	if (!(answer instanceof Response) || !answer.ok) throw lost();
	const list = z.array(Listed).safeParse(await answer.json().catch(() => null));
	if (!list.success) throw invalid(null, "The plugin repository answered no list of plugins.");
	return list.data;
}

const isListed = (
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

/** Plugins that are published for this kind of service, in our words. */
const BUNDLED: z.infer<typeof Listed>[] = [
	isListed(
		"GeoIP",
		"PostHog/posthog-plugin-geoip",
		"data_enrichment",
		true,
		"Adds the place of an address to events and persons.",
	),
	isListed(
		"Replicator",
		"PostHog/posthog-plugin-replicator",
		"data_out",
		true,
		"Sends every event on to a second instance.",
	),
	isListed(
		"Migrator 3000",
		"PostHog/posthog-plugin-migrator3000",
		"data_in",
		true,
		"Brings the events of another instance here, from a date on.",
	),
	isListed(
		"Starter kit",
		"PostHog/posthog-plugin-starter-kit",
		"other",
		true,
		"The smallest plugin there is, to begin one of your own with.",
	),
	isListed(
		"Referer parser",
		"visionect/posthog-plugin-snowplow-referer-parser",
		"data_enrichment",
		false,
		"Says of an event's referrer which search engine or network it is.",
	),
	isListed(
		"URL parameters",
		"everald/posthog-plugin-url-parameter-to-event-properties",
		"data_enrichment",
		false,
		"Turns the parameters of an address into properties of the event.",
	),
	isListed(
		"RSS annotator",
		"leggetter/posthog-plugin-rss-annotator",
		"data_in",
		false,
		"Makes an annotation of each new entry of a feed.",
	),
	isListed(
		"Appfigures",
		"benjackwhite/posthog-plugin-appfigures",
		"data_in",
		false,
		"Brings an app's reviews and ratings in as events.",
	),
	isListed(
		"Laudspeaker",
		"laudspeaker/laudspeaker-posthog-plugin",
		"data_out",
		false,
		"Sends events on to Laudspeaker, which messages customers by them.",
	),
];
