import { atLeast } from "../../access/middleware.ts";
import { body } from "../../access/valid.ts";
import { ADMIN } from "../../db/schema/levels.ts";
import { page } from "../../http/page.ts";
import { created, noContent, ok, paginated, router } from "../../http/router.ts";
import { TestResult } from "../../outbound/steps.ts";
import * as auditStreams from "./queries.ts";
import { AuditStream, create, test, update } from "./shape.ts";
import { testDestination } from "./test_destination.ts";

/** docs/audit.md. For admins, since a stream includes the events of private projects. */
export default router()
	.get("/", paginated(AuditStream), atLeast(ADMIN), async (c) =>
		c.json(await auditStreams.list(c.var.tenant, page(c))),
	)
	.post("/", created(AuditStream), atLeast(ADMIN), body(create), async (c) =>
		c.json(await auditStreams.insert(c.var.tenant, c.req.valid("json")), 201),
	)
	.get("/:id", ok(AuditStream), atLeast(ADMIN), async (c) =>
		c.json(await auditStreams.find(c.var.tenant, c.req.param("id"))),
	)
	.patch("/:id", ok(AuditStream), atLeast(ADMIN), body(update, auditStreams.find), async (c) =>
		c.json(await auditStreams.update(c.var.tenant, c.req.param("id"), c.req.valid("json"))),
	)
	.delete("/:id", noContent(), atLeast(ADMIN), async (c) => {
		await auditStreams.remove(c.var.tenant, c.req.param("id"));
		return c.body(null, 204);
	})
	.post("/:id/test", ok(TestResult), atLeast(ADMIN), body(test, auditStreams.find), async (c) =>
		c.json(await testDestination(c.var.tenant, c.req.param("id"), c.req.valid("json"))),
	);
