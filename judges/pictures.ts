/**
 * `npm run pictures`: fills a new server, and takes the pictures of the console that the
 * documentation shows (docs/pictures). It needs Chromium.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { Page } from "playwright-core";
import { Tenantry } from "../packages/client/src/index.ts";
import { sample } from "../scripts/sample.ts";
import { DAY_MS, HOUR_MS } from "../src/lib/time.ts";
import { listen } from "../test/support/peers.ts";
import { openBrowser, signIn } from "./browser.ts";
import { serveNew } from "./kept_server.ts";

const root = `${import.meta.dirname}/..`;
const pictures = `${root}/docs/pictures`;

const browser = await openBrowser();
const { url, owner } = await serveNew("pictures", {
	organization: "Example Ltd",
	variables: { ALLOW_PRIVATE_DESTINATIONS: "true" },
});

console.log("Creating objects…");
const api = new Tenantry({ baseUrl: url, key: owner.key });
const at = { organization: owner.organization };
const { id } = await sample(url, owner.key);
// A receiver that accepts nothing.
const receiver = createServer((_, response) => {
	response.writeHead(401, { "content-type": "text/plain" }).end("Unknown token");
});
const rejecting = `http://127.0.0.1:${await listen(receiver)}`;
const [failing, webhook] = await Promise.all([
	api.batchExports.create(at, {
		name: "Hourly to the data warehouse",
		interval: "hour",
		destination: { type: "HTTP", config: { url: `${rejecting}/events` } },
	}),
	api.webhooks.create(at, { url: `${rejecting}/hooks`, description: "Notices for the team" }),
	api.domains.create(at, { domain: "example.com" }),
	api.organizationProjects.create(at, { name: "Mobile app" }),
	api.organizationProjects.create(at, { name: "Documentation" }),
]);
const account = await api.serviceAccounts.create(at, { name: "Nightly reports" });
await api.serviceAccountKeys.create(
	{ ...at, account: account.id },
	{
		label: "Reports",
		scopes: ["project:read"],
		expires_at: new Date(Date.now() + 3 * DAY_MS).toISOString(),
	},
);
await api.batchExports.update({ ...at, id }, { name: "Hourly to R2" });
const hour = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;
const range = (from: number, until: number) => ({
	start_at: new Date(hour - from * HOUR_MS).toISOString(),
	end_at: new Date(hour - until * HOUR_MS).toISOString(),
});
await Promise.all([
	api.batchExports.backfill({ ...at, id }, range(48, 6)),
	api.batchExports.backfill({ ...at, id: failing.id }, range(4, 0)),
]);
const isBusy = async (id: string) =>
	(await api.batchExports.listBackfills({ ...at, id })).results.some(
		({ status }) => status === "Running",
	);
while ((await isBusy(id)) || (await isBusy(failing.id))) await sleep(500);

/** Saves what is on the screen as WebP, which Chromium encodes. */
async function take(page: Page, name: string) {
	const session = await page.context().newCDPSession(page);
	const { data } = await session.send("Page.captureScreenshot", { format: "webp", quality: 60 });
	writeFileSync(`${pictures}/${name}.webp`, Buffer.from(data, "base64"));
	console.log(`${name}.webp`);
}

console.log("Taking pictures…");
mkdirSync(pictures, { recursive: true });
const page = await signIn(browser, { url, key: owner.key });
const console_ = `${url}/console/${owner.organization}`;
const views = {
	overview: ["", "Needs attention"],
	export: [`/batch_exports/${id}`, "Backfills:"],
	webhook: [`/webhooks/${webhook.id}`, "Deliveries"],
	activity: ["/activity", "added"],
} as const;
for (const [name, [path, words]] of Object.entries(views)) {
	await page.goto(console_ + path);
	await page.getByRole("main").getByText(words).first().waitFor();
	await take(page, name);
}
await page.keyboard.press("Control+k");
const palette = page.getByRole("dialog");
await palette.getByRole("combobox").fill("hour");
await palette.getByRole("option").first().waitFor();
await take(page, "palette");
process.exit(0);
