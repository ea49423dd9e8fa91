import * as z from "zod";
import { body } from "../../access/input.ts";
import { atLeast } from "../../access/middleware.ts";
import { ADMIN } from "../../db/schema/levels.ts";
import { page } from "../../http/page.ts";
import { created, noContent, ok, paginated, router } from "../../http/router.ts";
import { TestResult } from "../../outbound/steps.ts";
import * as auditStreams from "./queries.ts";
import { AuditStream, create, test, update } from "./shape.ts";
import { testDestination } from "./test_destination.ts";

const ELSEWHERE =
	"The destination was changed to another server without its secrets, or a setting is unknown or invalid.";

/** docs/audit.md. For admins, since a stream includes the events of private projects. */
export default router({
	name: "Audit streams",
	description:
		"Write the organization's activity and events to a bucket, every hour, as compressed JSON Lines. Each line has the digest of the previous line, so that you can detect changed, removed and added lines. Or send them to an HTTPS endpoint, Splunk, Datadog or Microsoft Sentinel. All operations require level 8.",
	parameters: { id: z.guid().describe("The stream's id.") },
})
	.get(
		"/",
		paginated(AuditStream, {
			id: "listAuditStreams",
			summary: "List the audit streams",
			description: "Lists the organization's streams, newest first. Requires level 8.",
		}),
		atLeast(ADMIN),
		async (c) => c.json(await auditStreams.list(c.var.tenant, page(c))),
	)
	.post(
		"/",
		created(AuditStream, {
			id: "createAuditStream",
			summary: "Create an audit stream",
			description:
				"Requires level 8. Older entries are written within minutes, new ones every hour.",
		}),
		atLeast(ADMIN),
		body(create),
		async (c) => c.json(await auditStreams.insert(c.var.tenant, c.req.valid("json")), 201),
	)
	.get(
		"/:id",
		ok(AuditStream, {
			id: "getAuditStream",
			summary: "Retrieve an audit stream",
			description:
				"Requires level 8. Returns the stream, with the number and digest of its last file, which you can compare with a copy of the files.",
		}),
		atLeast(ADMIN),
		async (c) => c.json(await auditStreams.find(c.var.tenant, c.req.param("id"))),
	)
	.patch(
		"/:id",
		ok(AuditStream, {
			id: "updateAuditStream",
			summary: "Change an audit stream",
			description:
				"Requires level 8. The `config` of the destination is merged over the stored one; null removes a key. The type can't be changed. A stream with a changed destination, or that is enabled again, continues within a minute where it stopped.",
			errors: { invalid_input: ELSEWHERE },
		}),
		atLeast(ADMIN),
		body(update, auditStreams.find),
		async (c) =>
			c.json(await auditStreams.update(c.var.tenant, c.req.param("id"), c.req.valid("json"))),
	)
	.delete(
		"/:id",
		noContent({
			id: "deleteAuditStream",
			summary: "Delete an audit stream",
			description:
				"Requires level 8. What was delivered stays. Undelivered entries are no longer delivered.",
		}),
		atLeast(ADMIN),
		async (c) => {
			await auditStreams.remove(c.var.tenant, c.req.param("id"));
			return c.body(null, 204);
		},
	)
	.post(
		"/:id/test",
		ok(TestResult, {
			id: "testAuditStream",
			summary: "Test the destination of an audit stream",
			description:
				"Requires level 8. Writes a small object and removes it, or sends a sample to the server, with the stored destination and the changes in the body, which are not saved. The response is a 200 in either case, with the result of each step.",
			errors: { invalid_input: ELSEWHERE },
		}),
		atLeast(ADMIN),
		body(test, auditStreams.find),
		async (c) =>
			c.json(await testDestination(c.var.tenant, c.req.param("id"), c.req.valid("json"))),
	);
