import { body, query } from "../../access/valid.ts";
import { page } from "../../http/page.ts";
import { created, noContent, ok, paginated, paginatedWithin, router } from "../../http/router.ts";
import { TestResult } from "../../outbound/steps.ts";
import * as backfills from "./backfills.ts";
import * as history from "./history.ts";
import * as logs from "./logs.ts";
import * as pauses from "./pauses.ts";
import * as batchExports from "./queries.ts";

import * as runs from "./runs.ts";
import {
	BackfilledExport,
	BatchExport,
	BatchExportBackfill,
	BatchExportDay,
	BatchExportLogEntry,
	BatchExportRange,
	BatchExportRun,
	backfill,
	backfillFilters,
	create,
	logFilters,
	rangeFilters,
	retry,
	runFilters,
	test,
	UnpausedExport,
	unpause,
	update,
} from "./shape.ts";
import { testDestination, testNewDestination } from "./test_destination.ts";

/** docs/exports.md. Mounted for the exports of an organization and for those of a project. */
export default router()
	.get("/", paginated(BatchExport), async (c) =>
		c.json(await batchExports.list(c.var.tenant, page(c))),
	)
	.post("/", created(BatchExport), body(create), async (c) =>
		c.json(await batchExports.insert(c.var.tenant, c.req.valid("json")), 201),
	)
	.post("/test", ok(TestResult), body(test), async (c) =>
		c.json(await testNewDestination(c.var.tenant, c.req.valid("json"))),
	)
	.get("/:id", ok(BatchExport), async (c) =>
		c.json(await batchExports.find(c.var.tenant, c.req.param("id"))),
	)
	.patch("/:id", ok(BatchExport), body(update, batchExports.find), async (c) =>
		c.json(await batchExports.update(c.var.tenant, c.req.param("id"), c.req.valid("json"))),
	)
	.delete("/:id", noContent(), async (c) => {
		await batchExports.remove(c.var.tenant, c.req.param("id"));
		return c.body(null, 204);
	})
	.post("/:id/backfill", ok(BackfilledExport), body(backfill, batchExports.find), async (c) =>
		c.json(await backfills.start(c.var.tenant, c.req.param("id"), c.req.valid("json"))),
	)
	.post("/:id/pause", ok(BatchExport), body(update, batchExports.find), async (c) =>
		c.json(await pauses.pause(c.var.tenant, c.req.param("id"))),
	)
	.post("/:id/unpause", ok(UnpausedExport), body(unpause, batchExports.find), async (c) =>
		c.json(await pauses.unpause(c.var.tenant, c.req.param("id"), c.req.valid("json"))),
	)
	.post("/:id/test", ok(TestResult), body(update, batchExports.find), async (c) =>
		c.json(await testDestination(c.var.tenant, c.req.param("id"), c.req.valid("json"))),
	)
	.get(
		"/:id/logs",
		paginatedWithin(BatchExport, BatchExportLogEntry),
		query(logFilters, batchExports.find),
		async (c) =>
			c.json(await logs.list(c.var.tenant, c.req.param("id"), page(c), c.req.valid("query"))),
	)
	.get("/:id/metrics", paginated(BatchExportDay), async (c) =>
		c.json(await history.listMetrics(c.var.tenant, c.req.param("id"), page(c))),
	)
	.get(
		"/:id/ranges",
		paginated(BatchExportRange),
		query(rangeFilters, batchExports.find),
		async (c) =>
			c.json(
				await history.listRanges(c.var.tenant, c.req.param("id"), page(c), c.req.valid("query")),
			),
	)
	.get("/:id/runs", paginated(BatchExportRun), query(runFilters, batchExports.find), async (c) =>
		c.json(await runs.list(c.var.tenant, c.req.param("id"), page(c), c.req.valid("query"))),
	)
	.get("/:id/runs/:run_id", ok(BatchExportRun), async (c) =>
		c.json(await runs.find(c.var.tenant, c.req.param("id"), c.req.param("run_id"))),
	)
	.post("/:id/runs/:run_id/cancel", ok(BatchExportRun), async (c) =>
		c.json(await runs.cancel(c.var.tenant, c.req.param("id"), c.req.param("run_id"))),
	)
	.post(
		"/:id/runs/:run_id/retry",
		ok(BatchExportRun),
		body(retry, (tenant, run_id, c) => runs.find(tenant, c.req.param("id") ?? "", run_id)),
		async (c) => {
			const { id, run_id } = c.req.param();
			const options = c.req.valid("json");
			return c.json(await runs.retry(c.var.tenant, id, run_id, options));
		},
	)
	.get(
		"/:id/runs/:run_id/logs",
		paginated(BatchExportLogEntry),
		query(logFilters, (tenant, run_id, c) => runs.find(tenant, c.req.param("id") ?? "", run_id)),
		async (c) =>
			c.json(
				await logs.listOfRun(
					c.var.tenant,
					c.req.param("id"),
					c.req.param("run_id"),
					page(c),
					c.req.valid("query"),
				),
			),
	)
	.get(
		"/:id/backfills",
		paginated(BatchExportBackfill),
		query(backfillFilters, batchExports.find),
		async (c) =>
			c.json(await backfills.list(c.var.tenant, c.req.param("id"), page(c), c.req.valid("query"))),
	)
	.get("/:id/backfills/:backfill_id", ok(BatchExportBackfill), async (c) =>
		c.json(await backfills.find(c.var.tenant, c.req.param("id"), c.req.param("backfill_id"))),
	)
	.post("/:id/backfills/:backfill_id/cancel", ok(BatchExportBackfill), async (c) =>
		c.json(await backfills.cancel(c.var.tenant, c.req.param("id"), c.req.param("backfill_id"))),
	);
