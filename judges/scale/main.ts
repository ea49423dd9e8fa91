/**
 * Computes what the service needs for 1 thousand, 100 thousand and 10 million organizations: load,
 * storage, cost, which limit of the platform it reaches first, and how long requests wait for a
 * database that runs one statement at a time (docs/internals/scale.md). Replace the numbers in
 * scale/assumptions.ts with those of your organizations.
 *
 * npm run scale
 */
import { tables } from "./tables.ts";

for (const [title, table] of Object.entries(tables())) console.log(`## ${title}\n\n${table}\n`);
