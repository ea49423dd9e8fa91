import { beforeAll } from "vitest";
import { families, publicRoutes } from "../../src/app.ts";
import { loadRoutes } from "../../src/mount.ts";
import { objects, testParallelDeletes } from "./races.ts";

// The runtime cancels requests that wait for a module which another request loads from the test
// server. Deployed modules are in the worker.
beforeAll(async () => {
	await Promise.all([...families, ...publicRoutes].map(loadRoutes));
});

testParallelDeletes(objects, 20);
