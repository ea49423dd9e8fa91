/** The examples of apps. */
import { createHash } from "node:crypto";
import * as z from "zod";
import { RECEIPT, type Recorder } from "./recorder.ts";

const VERIFIER = "example-verifier".padEnd(43, "0");

const CALLBACK = "https://notes.example.com/callback";

/** The document about the app with this client id (docs/oauth.md#the-apps-document). */
export const appDocument = (client_id: string) =>
	JSON.stringify({ client_id, client_name: "Notes", redirect_uris: [CALLBACK] });

/**
 * Records how a user allows an app, and ends its access.
 * @param url the URL of the service
 */
export async function apps({ record, refuse }: Recorder, url: string, client_id: string) {
	const request = {
		response_type: "code",
		client_id,
		redirect_uri: CALLBACK,
		code_challenge: createHash("sha256").update(VERIFIER).digest("base64url"),
		code_challenge_method: "S256",
		scope: "project:read batch_export:write",
		state: "example-state",
	};
	const approval = { ...request, scopes: ["project:read", "batch_export:read"] };
	await record("previewAppRequest", { body: request });
	await refuse("previewAppRequest", 400, { body: { ...request, redirect_uri: "https://other" } });
	await refuse("approveAppRequest", 400, { body: { ...approval, scopes: ["user:read"] } });

	/** Returns the id of a new grant. */
	async function allow() {
		const { redirect_url } = await record("approveAppRequest", { body: approval });
		const code = new URL(redirect_url ?? "").searchParams.get("code") ?? "";
		const body = new URLSearchParams({
			grant_type: "authorization_code",
			...{ code, client_id, redirect_uri: CALLBACK, code_verifier: VERIFIER },
		});
		const response = await fetch(`${url}/oauth/token`, { method: "POST", body });
		if (!response.ok) throw new Error(await response.text());
		const { results = [] } = await record("listOauthGrants", { parameters: { uuid: "@me" } });
		return String(results[0]?.id);
	}
	const id = await allow();
	await record("listOrganizationOauthGrants");
	await record("revokeOrganizationOauthGrant", { parameters: { id }, headers: RECEIPT });
	await record("revokeOauthGrant", {
		parameters: { uuid: "@me", id: await allow() },
		headers: RECEIPT,
	});
}

const Started = z.object({ user_code: z.string() });

/**
 * Records how a user decides about devices.
 * @param url the URL of the service
 * @returns the codes of the devices, with their replacements
 */
export async function devices({ record, refuse }: Recorder, url: string) {
	async function start() {
		const scope = "project:read batch_export:write";
		const body = new URLSearchParams({ client_id: "tenantry-cli", scope });
		const response = await fetch(`${url}/oauth/device_authorization`, { method: "POST", body });
		return Started.parse(await response.json());
	}
	const [allowed, denied] = [await start(), await start()];
	await record("previewDeviceRequest", { body: allowed });
	const approval = { ...allowed, scopes: ["project:read", "batch_export:read"] };
	await refuse("approveDeviceRequest", 400, { body: { ...approval, scopes: ["user:read"] } });
	await record("approveDeviceRequest", { body: approval });
	await refuse("previewDeviceRequest", 400, { body: allowed });
	await record("denyDeviceRequest", { body: denied });
	await refuse("denyDeviceRequest", 400, { body: denied });
	return [
		[allowed.user_code, "BCDF-GHJK"],
		[denied.user_code, "LMNP-QRST"],
	] satisfies [string, string][];
}
