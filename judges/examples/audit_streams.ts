/** The examples of audit streams. */
import type { Recorder } from "./recorder.ts";

export async function auditStreams({ record, refuse }: Recorder) {
	const destination = { type: "R2", config: { prefix: "audit" } };
	const { id } = await record("createAuditStream", {
		body: { name: "Archive", destination, from: "now" },
	});
	await refuse("createAuditStream", 400, {
		body: { name: "Archive", destination: { type: "R2", config: { prefix: "{year}" } } },
	});
	const parameters = { id: String(id) };
	await record("getAuditStream", { parameters });
	await record("testAuditStream", {
		parameters,
		body: { destination: { config: { prefix: "log" } } },
	});
	await record("updateAuditStream", { parameters, body: { enabled: false } });
	await record("listAuditStreams");
	await record("deleteAuditStream", { parameters });
}
