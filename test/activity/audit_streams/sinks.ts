/** The servers that streams can send to, each on loopback (test/support/siems.ts). */
import { env } from "cloudflare:workers";
import type { SINKS } from "../../../src/activity/audit_streams/sinks/index.ts";
import { type Accepted, SECRET } from "../../support/siems.ts";

export type Server = Exclude<keyof typeof SINKS, "S3" | "R2" | "GCS" | "AzureBlob">;

export type Sink = {
	/** The path of the server. */
	at: string;
	/** The setting with the secret. */
	secret: string;
	/** The settings for a server with a name. */
	config(url: string): Record<string, unknown>;
	/** Returns the events in a request, in our format or OCSF. */
	eventsIn(request: Accepted): unknown[];
	/** What the error says about a wrong secret. */
	rejection: string;
};

export const SERVERS: Record<Server, Sink> = {
	HTTP: {
		at: "/lines",
		secret: "token",
		config: (url) => ({ url, token: SECRET }),
		eventsIn: ({ items }) =>
			items
				.map((line) => JSON.parse(line))
				.filter(({ id, metadata }) => id ?? metadata)
				.map(({ previous, digest, ...event }) => {
					const { number, ...ocsf } = event;
					return "metadata" in event ? ocsf : event;
				}),
		rejection: "The server rejected the token, or requires one.",
	},
	SplunkHEC: {
		at: "/splunk",
		secret: "token",
		config: (url) => ({ url, token: SECRET, index: "main" }),
		eventsIn: ({ items }) => items.map(({ event }) => event),
		rejection: "The token is wrong.",
	},
	Datadog: {
		at: "/datadog",
		secret: "api_key",
		config: (endpoint_url) => ({ api_key: SECRET, endpoint_url, tags: "env:test" }),
		eventsIn: ({ items }) => items.map(({ message }) => JSON.parse(message)),
		rejection: "The API key is wrong, was revoked, or belongs to another site.",
	},
	Sentinel: {
		at: "/azure",
		secret: "client_secret",
		config: (url) => ({
			url,
			login_url: url,
			rule_id: `dcr-${"0".repeat(32)}`,
			stream_name: "Custom-Tenantry_CL",
			tenant_id: crypto.randomUUID(),
			client_id: crypto.randomUUID(),
			client_secret: SECRET,
		}),
		eventsIn: ({ items }) => items.map(({ TimeGenerated, ...event }) => event),
		rejection: "client_secret is wrong or has expired.",
	},
};

/** Returns the positions of entries in requests. */
export const rangesOf = (requests: Accepted[]) =>
	requests.map(({ headers }) => headers["tenantry-positions"]);

/** Returns a destination at a server of its own, and what it accepts. */
export function serverOf(
	type: string,
	{ at, config, eventsIn }: Sink,
	more: object = {},
	name = "",
) {
	const path = `${at}/${name}${crypto.randomUUID()}`;
	const url = `${env.SIEM_URL}${path}`;
	const accepted = async () => (await fetch(url)).json<Accepted[]>();
	return {
		destination: { type, config: { ...config(url), ...more } },
		accepted,
		/** Says how the next requests are answered. */
		plan: (...ways: string[]) => fetch(url, { method: "PUT", body: JSON.stringify(ways) }),
		// biome-ignore lint/suspicious/noExplicitAny: of two formats
		events: async (): Promise<any[]> => (await accepted()).flatMap(eventsIn),
	};
}
