/**
 * Modules that queues and workflows load on first use. These continue after a test: if they were the first to load a module while
 * a file ends, loading it would fail, also in each later file in the same runtime.
 */
import "dns-packet";
import "standardwebhooks";
import "../../src/outbound/dns/reach.ts";
import "../../src/outbound/buckets/azure.ts";
import "../../src/exporter/destinations/bigquery.ts";
import "../../src/exporter/destinations/clickhouse.ts";
import "../../src/outbound/buckets/gcs.ts";
import "../../src/exporter/destinations/http.ts";
import "../../src/exporter/destinations/noop.ts";
import "../../src/exporter/destinations/postgres.ts";
import "../../src/outbound/buckets/r2.ts";
import "../../src/outbound/buckets/s3.ts";
import "../../src/exporter/run.ts";
import "../../src/jobs/queue.ts";
import "../../src/jobs/work.ts";
import "../../src/webhooks/attempt.ts";
import "../../src/webhooks/deliver.ts";
