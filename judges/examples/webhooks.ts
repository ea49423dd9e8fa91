/** The examples of webhooks and of the event feed. */
import type { Recorder } from "./recorder.ts";

/** @param url an endpoint that accepts all requests */
export async function webhooks({ record, refuse, waitFor }: Recorder, url: string) {
	const { id } = await record("createWebhook", {
		body: { url, types: ["webhook.*", "batch_export_run.failed"], description: "Our own alerts" },
	});
	await refuse("createWebhook", 400, { body: { url: "ftp://receiver.example.com" } });
	const parameters = { id: String(id) };
	await record("testWebhook", { parameters });
	await record("updateWebhook", { parameters, body: { description: "Alerts of the data team" } });
	const isUpdate = { type: "webhook.updated" };
	const { results } = await waitFor(
		"listWebhookDeliveries",
		{ parameters: { ...parameters, ...isUpdate } },
		({ count }) => count === 1,
	);
	await record("listWebhookDeliveries", { parameters: { ...parameters, limit: 2 } });
	await record("getWebhook", { parameters });
	await record("rollWebhook", { parameters, body: { overlap: "24h" } });
	await record("replayWebhook", { parameters, body: { since: "2026-11-02T10:00:00Z" } });
	await record("replayWebhookDelivery", {
		parameters: { ...parameters, delivery_id: String(results?.[0]?.id) },
	});
	await record("listWebhooks");
	await record("deleteWebhook", { parameters });
	await record("restoreWebhook", { parameters: { deleted_id: String(id) }, body: {} });
	await record("listFeedEvents", { parameters: { types: "webhook.*", limit: 2 } });
}
