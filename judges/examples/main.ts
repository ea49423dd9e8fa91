/**
 * `npm run examples`: calls the operations of the API on a new local server, and writes the
 * requests and responses to build/openapi/examples.json. The OpenAPI document takes its examples
 * from there. Run it after changing requests or responses.
 */
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import dns from "dns-packet";
import { conflict, throttled } from "../../src/http/errors.ts";
import { HOUR_MS, MINUTE_MS } from "../../src/lib/time.ts";
import { listen } from "../../test/support/peers.ts";
import { serveNew } from "../kept_server.ts";
import { access } from "./access.ts";
import { appDocument, apps, devices } from "./apps.ts";
import { auditStreams } from "./audit_streams.ts";
import { events, exports } from "./exports.ts";
import { keysIn, normalizer } from "./normalize.ts";
import * as people from "./people.ts";
import { plugins } from "./plugins.ts";
import { RECEIPT, recorder } from "./recorder.ts";
import { passkeys, signIn, twoFactor } from "./sign_in.ts";
import { webhooks } from "./webhooks.ts";

const APP_URL = "https://tenantry.example.com";

const file = `${import.meta.dirname}/../../build/openapi/examples.json`;

// The examples take place within one hour.
const left = HOUR_MS - (Date.now() % HOUR_MS);
if (left < 3 * MINUTE_MS) {
	console.log("Waiting for the next hour…");
	await new Promise((resolve) => setTimeout(resolve, left + 1000));
}

/** The TXT records in the DNS, by name. */
const texts = new Map<string, string>();

/**
 * A resolver with only these records (RFC 8484). It never responds at /slow, accepts all requests
 * at /webhook and none at /gone, and has the document of an app at /app.
 */
const peer = createServer(async (request, response) => {
	if (request.url === "/slow") return;
	if (request.url === "/webhook") {
		response.writeHead(204).end();
		return;
	}
	if (request.url === "/gone") {
		response.writeHead(410).end();
		return;
	}
	if (request.url === "/app") {
		response.end(appDocument(appUrl));
		return;
	}
	const query = dns.decode(Buffer.concat(await Array.fromAsync(request)));
	const answers = (query.questions ?? []).flatMap(({ name }) => {
		const data = texts.get(name);
		return data === undefined ? [] : [{ name, type: "TXT" as const, ttl: 60, data }];
	});
	response.setHeader("content-type", "application/dns-message").end(
		dns.encode({
			type: "response",
			id: query.id ?? 0,
			questions: query.questions ?? [],
			answers,
		}),
	);
});
const peerPort = await listen(peer);
const peerUrl = `http://127.0.0.1:${peerPort}`;
const appUrl = `http://localhost:${peerPort}/app`;

const { url, owner, work } = await serveNew("examples", {
	email: "admin@example.com",
	organization: "Acme",
	variables: {
		DOH_URL: peerUrl,
		ALLOW_PRIVATE_DESTINATIONS: "true",
		USAGE_FLUSH_SECONDS: "0",
		ACCESS_EVENTS_PER_DAY: "0",
		MAIL_FROM: "tenantry@example.com",
		APP_URL,
	},
});

const { key, organization, project } = owner;
const record = recorder(url, key, { organization_id: organization, project_id: project });
await people.service(record);
await people.users(record, project);
await people.organizations(record, project);
const { uuid } = await people.invites(record);
await access(record, uuid);
await people.members(record, uuid);
await people.memberDetails(record, uuid);
await people.projectMembers(record, uuid);
await people.notifications(record, uuid);
await people.projects(record, "", project);
await people.projects(record, "Organization", project);
const atProvider = await people.domains(
	record,
	(domain, challenge) => texts.set(`_tenantry-challenge.${domain}`, challenge),
	url,
);
await people.keys(record);
await people.serviceAccounts(record);
await people.oauthClients(record);
await apps(record, url, appUrl);
await events(record);
await auditStreams(record);
await webhooks(record, `${peerUrl}/webhook`);
await exports(record, "", peerUrl);
await exports(record, "Project", peerUrl);
await plugins(record);
await record.record("listActivity", { parameters: { scope: "Domain", activity: "created" } });
await record.record("listProjectActivity", { parameters: { scope: "BatchExport", limit: 2 } });
const secrets = [
	...(await passkeys(record, APP_URL)),
	...(await signIn(record, "analyst@example.com", work)),
	...(await twoFactor(record, uuid)),
];
await people.erasure(record);
await record.record("removeMember", { parameters: { user__uuid: uuid }, headers: RECEIPT });
const codes = await devices(record, url);

const normalize = normalizer({
	steps: record.steps,
	keys: keysIn(JSON.stringify([key, record.examples])),
	texts: [
		...secrets,
		...atProvider,
		...codes,
		[url, APP_URL],
		[`${peerUrl}/slow`, "https://receiver.example.com/events"],
		[`${peerUrl}/gone`, "https://receiver.example.com/old"],
		[`${peerUrl}/webhook`, "https://receiver.example.com/webhook"],
		[appUrl, "https://notes.example.com/app"],
		[`localhost:${peerPort}`, "notes.example.com"],
		[`127.0.0.1:${peerPort}`, "receiver.example.com"],
		["127.0.0.1", "203.0.113.7"],
	],
});
// These errors can't be caused here. The same functions create them as in the service.
const errors = { 409: conflict().body, 429: throttled(60).body };
const operations = normalize(record.examples);
writeFileSync(file, `${JSON.stringify({ errors, operations }, null, 2)}\n`);
console.log(`Recorded ${Object.keys(record.examples).length} operations.`);
process.exit();
