/** What the tests of the console have beside an organization: domains, receivers, and hours. */
import { createServer, type IncomingHttpHeaders } from "node:http";
import { text } from "node:stream/consumers";
import { expect, inject, onTestFinished } from "vitest";
import { listen } from "../../support/peers.ts";
import { newOrganization } from "./browser.ts";

export const HOUR_MS = 3_600_000;

/** The start of the hour in which the tests began. */
const HOUR = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;

export const hoursAgo = (n: number) => new Date(HOUR - n * HOUR_MS).toISOString();

export const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();

/** A domain that nobody else has. */
export const newDomain = () => `acme-${crypto.randomUUID().slice(0, 8)}.example.com`;

/** Publishes the record that verifies a domain. */
export const publish = (domain: string, challenge: string) =>
	fetch(`${inject("console").resolver}_tenantry-challenge.${domain}`, {
		method: "PUT",
		body: challenge,
	});

/** A new organization with a verified domain that has these settings. */
export async function withDomain(settings: object = {}) {
	const home = await newOrganization();
	const domain = newDomain();
	const made = await home.client.domains.create(home.at, { domain, ...settings });
	await publish(domain, made.verification_challenge);
	const at = { ...home.at, id: made.id };
	expect(await home.client.domains.verify(at)).toMatchObject({ is_verified: true });
	return { ...home, domain, domainAt: at };
}

/** A receiver that keeps what it gets. It answers with the status and text of `answer`. */
export async function receiver(answer = { status: 204, text: "" }) {
	const got: { body: string; headers: IncomingHttpHeaders }[] = [];
	const server = createServer(async (request, response) => {
		got.push({ body: await text(request), headers: request.headers });
		response.writeHead(answer.status).end(answer.text);
	});
	onTestFinished(() => void server.close());
	return { got, answer, url: `http://127.0.0.1:${await listen(server)}/hooks` };
}
