/**
 * Modules that queues and workflows load on first use. These continue after a test: if they were
 * the first to load a module while a file ends, loading it would fail, also in each later file in
 * the same runtime.
 */
import "dns-packet";
import "standardwebhooks";
import "../../src/outbound/dns/reach.ts";
import "../../src/outbound/buckets/azure.ts";
import "../../src/exports/engine/destinations/bigquery.ts";
import "../../src/exports/engine/destinations/clickhouse.ts";
import "../../src/outbound/buckets/gcs.ts";
import "../../src/exports/engine/destinations/http.ts";
import "../../src/exports/engine/destinations/key_pattern.ts";
import "../../src/exports/engine/destinations/noop.ts";
import "../../src/exports/engine/destinations/postgres.ts";
import "../../src/outbound/buckets/r2.ts";
import "../../src/outbound/buckets/s3.ts";
import "../../src/exports/engine/run.ts";
import "../../src/plugins/jobs/queue.ts";
import "../../src/plugins/jobs/work.ts";
import "../../src/activity/webhooks/attempt.ts";
import "../../src/activity/webhooks/deliver.ts";
