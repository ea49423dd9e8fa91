/** The examples of SCIM. */
import type { Recorder } from "./recorder.ts";

/**
 * @param domain_id a verified domain
 * @param base the URL of its SCIM endpoint
 */
export async function scim({ record, refuse, waitFor }: Recorder, domain_id: string, base: string) {
	const parameters = { domain_id };
	const { id: first, value } = await record("createScimToken", { parameters });
	const send = async (path: string, body?: object) => {
		const headers = { authorization: `Bearer ${value}`, "content-type": "application/scim+json" };
		const response = await fetch(base + path, {
			headers,
			...(body && { method: "POST", body: JSON.stringify(body) }),
		});
		return JSON.parse(await response.text());
	};
	const { id } = await send("/Groups", { displayName: "Engineering" });
	await send('/Users?filter=userName eq "analyst@example.com"&attributes=userName');
	await send("/Users/unknown");
	await record("listScimGroups", { parameters });
	const group = { ...parameters, group_id: String(id) };
	await record("updateScimGroup", { parameters: group, body: { level: 8 } });
	await refuse("updateScimGroup", 400, { parameters: group, body: { level: 15 } });
	// They are written after the response.
	const latest = { parameters: { ...parameters, limit: 2 } };
	await waitFor("listScimRequests", latest, ({ results = [] }) =>
		results.some((request) => request.path === "/Users/unknown"),
	);
	await record("listScimRequests", latest);
	await record("listScimTokens", { parameters });
	await record("createScimToken", { parameters });
	await refuse("createScimToken", 400, { parameters });
	await record("deleteScimToken", { parameters: { ...parameters, token_id: String(first) } });
}
