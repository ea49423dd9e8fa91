/** Microsoft Sentinel, through the Logs Ingestion API of Azure Monitor. */
import * as z from "zod";
import { define, originOf } from "../../../exports/destinations/definition.ts";
import { endpoint } from "../../../exports/destinations/fields.ts";
import { parseStored } from "../../../exports/destinations/index.ts";
import { rawText, text, url, uuid } from "../../../http/fields.ts";
import { jsonOf } from "../../../lib/json.ts";
import { MisconfiguredError } from "../../../outbound/errors.ts";
import type { Sender } from "../../../outbound/send.ts";
import { timeOf } from "./batches.ts";
import { positionHeaders, post, serverSink } from "./server.ts";
import { format, type Written } from "./sink.ts";

/** A request can have 1 MB. Azure cuts columns that are longer than 64 KB. */
const LIMITS = { entries: 1000, bytes: 990_000, entryBytes: 60_000 };

const API_VERSION = "2023-01-01";

const LOGIN_URL = "https://login.microsoftonline.com";
const AUDIENCE = "https://monitor.azure.com";

const loginOf = (login_url: string | null | undefined) => login_url ?? LOGIN_URL;

const definition = define({
	title: "Microsoft Sentinel",
	kind: "receiver",
	config: z.object({
		url: url().describe(
			"The URL for logs ingestion of the data collection endpoint or rule, such as `https://example-1a2b.westeurope-1.ingest.monitor.azure.com`.",
		),
		rule_id: text(100)
			.regex(/^dcr-[0-9a-f]{32}$/, "The immutable ID of a rule is dcr- and 32 hexadecimal digits.")
			.describe("The immutable ID of the data collection rule."),
		stream_name: text(100)
			.min(1)
			.regex(
				/^[\w-]+$/,
				"The name of a stream can only have letters, digits, hyphens and underscores.",
			)
			.describe("The rule's stream, such as `Custom-Tenantry_CL`."),
		tenant_id: uuid().describe("The directory (tenant) ID of the app registration."),
		client_id: uuid().describe("The application (client) ID of the app registration."),
		client_secret: rawText(255).min(1).describe("A client secret of the app registration."),
		login_url: endpoint().describe(
			"The sign-in server of a national cloud; null for the global one.",
		),
		audience: text(255)
			.pipe(z.url({ protocol: /^https$/ }))
			.meta({ maxLength: 255 })
			.nullish()
			.describe(
				"The resource that access tokens are for, in a national cloud; null for the global one.",
			),
		format,
	}),
	place: "url",
	secrets: ["client_secret"],
	// The secret goes to the first one, and what it is exchanged for to the second one.
	server: ({ url, login_url }) => `${originOf(loginOf(login_url))} ${originOf(url)}`,
	test: ["reach", "sign in", "write"],
});

type Settings = z.output<typeof definition.config>;

const Issued = z.object({ access_token: z.string().min(1) });
const Rejected = z.object({ error: z.string() });

/** The errors of the sign-in server (RFC 6749, section 5.2). */
const PROBLEMS = {
	invalid_client: "client_secret is wrong or has expired.",
	unauthorized_client:
		"There is no such application in the directory: check client_id and tenant_id.",
	invalid_request: "The sign-in server rejected the request: check tenant_id.",
	invalid_scope: "There is no such audience.",
};

/** Returns an access token for the app (RFC 6749, section 4.4). */
async function issueToken(sender: Sender, config: Settings) {
	const { tenant_id, client_id, client_secret, login_url, audience } = config;
	const base = loginOf(login_url).replace(/\/$/, "");
	const response = await post(sender, {
		url: new URL(`${base}/${tenant_id}/oauth2/v2.0/token`),
		headers: { "content-type": "application/x-www-form-urlencoded" },
		body: new URLSearchParams({
			grant_type: "client_credentials",
			client_id,
			client_secret,
			scope: `${(audience ?? AUDIENCE).replace(/\/$/, "")}/.default`,
		}).toString(),
		isCompressed: false,
		secrets: [client_secret],
		codeOf: ({ text }) => Rejected.safeParse(jsonOf(text)).data?.error ?? "",
		meanings: PROBLEMS,
		temporary: ["temporarily_unavailable"],
	});
	const issued = Issued.safeParse(jsonOf(response.text)).data;
	if (issued) return issued.access_token;
	throw new MisconfiguredError("The sign-in server issued no token: check login_url.");
}

export const sentinel = {
	...definition,
	async open(env: Env, stream: Written, timeoutMs: number) {
		const config = parseStored(definition.config, stream.destination.config);
		const { url, rule_id, stream_name, client_secret } = config;
		const target = new URL(
			`${url.replace(/\/$/, "")}/dataCollectionRules/${rule_id}/streams/${stream_name}?api-version=${API_VERSION}`,
		);
		return serverSink(env, { stream, timeoutMs }, (sender) => {
			let token: string | undefined;
			return {
				limits: LIMITS,
				itemOf: (entry) =>
					`{"TimeGenerated":"${new Date(timeOf(entry)).toISOString()}",${entry.slice(1)}`,
				async *send(batch) {
					// A token is valid for longer than a turn takes.
					token ??= await issueToken(sender, config);
					await post(sender, {
						url: target,
						headers: {
							"content-type": "application/json",
							authorization: `Bearer ${token}`,
							...positionHeaders(stream, batch),
						},
						body: `[${batch.items.join(",")}]`,
						isCompressed: true,
						secrets: [client_secret, token],
						meanings: {
							401: "The server rejected the access token: check url and audience.",
							403: "The app lacks the role Monitoring Metrics Publisher on the data collection rule. A new role takes up to 30 minutes.",
							404: "There is no such data collection rule or stream: check rule_id, stream_name and url.",
							413: "The server doesn't accept a request of 1 MB.",
						},
					});
					yield { sent: batch.last };
				},
				steps: {
					reach: () => sender.exchange(new Request(new URL(url).origin), [client_secret]),
					"sign in": async () => {
						token = await issueToken(sender, config);
					},
				},
			};
		});
	},
};
