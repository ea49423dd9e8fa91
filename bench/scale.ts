/**
 * What the service needs at 1 thousand, 100 thousand and 10 million organizations: load, storage, money, which limit of the
 * platform is met first, and how long requests wait for a database that runs one statement at a time (docs/scale.md).
 * Change the numbers of scale/assumptions.ts to those of your organizations.
 *
 * npm run scale
 */
import { tables } from "./scale/tables.ts";

for (const [title, table] of Object.entries(tables())) console.log(`## ${title}\n\n${table}\n`);
