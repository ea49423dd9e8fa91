/**
 * Modules that queues and workflows load on first use. These continue after a test: if they were
 * the first to load a module while a file ends, loading it would fail, also in each later file in
 * the same runtime.
 */
import "dns-packet";
import "standardwebhooks";
import "../../src/outbound/reach.ts";
import "../../src/exports/destinations/azure/bucket.ts";
import "../../src/exports/destinations/bigquery/writer.ts";
import "../../src/exports/destinations/clickhouse/writer.ts";
import "../../src/exports/destinations/gcs/bucket.ts";
import "../../src/exports/destinations/http/writer.ts";
import "../../src/exports/destinations/postgres/writer.ts";
import "../../src/exports/destinations/r2/bucket.ts";
import "../../src/exports/destinations/s3/bucket.ts";
import "../../src/exports/engine/run.ts";
import "../../src/plugins/jobs/queue.ts";
import "../../src/plugins/jobs/work.ts";
import "../../src/activity/webhooks/attempt.ts";
import "../../src/activity/webhooks/deliver.ts";
