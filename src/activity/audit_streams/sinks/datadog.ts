/** Datadog's intake for logs (https://docs.datadoghq.com/api/latest/logs/#send-logs). */
import * as z from "zod";
import { define, originOf } from "../../../exports/destinations/definition.ts";
import { endpoint, header } from "../../../exports/destinations/fields.ts";
import { parseStored } from "../../../exports/destinations/index.ts";
import { text } from "../../../http/fields.ts";
import { timeOf } from "./batches.ts";
import { positionHeaders, post, serverSink } from "./server.ts";
import { format, type Written } from "./sink.ts";

/** A log can have 1 MB, and a request 1,000 logs and 5 MB. With the characters around them. */
const LIMITS = { entries: 1000, bytes: 4_900_000, entryBytes: 990_000 };

const DEFAULT_SITE = "datadoghq.com";

const definition = define({
	title: "Datadog",
	kind: "receiver",
	config: z.object({
		site: text(253)
			.min(1)
			.regex(/^[\w.-]+$/, "Enter the site without https://, such as datadoghq.eu.")
			.nullish()
			.describe("The site of your account; `datadoghq.com` by default."),
		api_key: header(255).min(1).describe("An API key."),
		service: text(100).min(1).nullish().describe("The logs' service; `tenantry` by default."),
		tags: text(200)
			.min(1)
			.nullish()
			.describe("Tags of the logs, separated by commas, such as `env:prod`."),
		endpoint_url: endpoint(),
		format,
	}),
	place: "site",
	secrets: ["api_key"],
	server: ({ site, endpoint_url }) => originOf(endpoint_url) ?? `${site ?? DEFAULT_SITE}`,
	test: ["reach", "write"],
});

export const datadog = {
	...definition,
	async open(env: Env, stream: Written, timeoutMs: number) {
		const config = parseStored(definition.config, stream.destination.config);
		const { site, api_key, endpoint_url, service, tags } = config;
		const origin = endpoint_url ?? `https://http-intake.logs.${site ?? DEFAULT_SITE}`;
		const url = new URL(`${origin.replace(/\/$/, "")}/api/v2/logs`);
		const secrets = [api_key];
		return serverSink(env, { stream, timeoutMs }, (sender) => ({
			limits: LIMITS,
			itemOf: (entry) =>
				JSON.stringify({
					ddsource: "tenantry",
					...(tags && { ddtags: tags }),
					service: service ?? "tenantry",
					timestamp: new Date(timeOf(entry)).toISOString(),
					message: entry,
				}),
			async *send(batch) {
				await post(sender, {
					url,
					headers: {
						"content-type": "application/json",
						"dd-api-key": api_key,
						...positionHeaders(stream, batch),
					},
					body: `[${batch.items.join(",")}]`,
					isCompressed: true,
					secrets,
					meanings: {
						401: "The API key is missing or wrong.",
						403: "The API key is wrong, was revoked, or belongs to another site.",
						404: "There is no intake for logs at this site: check site and endpoint_url.",
					},
				});
				yield { sent: batch.last };
			},
			steps: { reach: () => sender.exchange(new Request(url, { method: "HEAD" }), secrets) },
		}));
	},
};
