#!/usr/bin/env node
import { existsSync } from "node:fs";

// The repository has the sources; the package has only what was built from them.
const builder = new URL("../build.js", import.meta.url);
if (existsSync(builder)) {
	const { buildIfNeeded } = await import(builder);
	await buildIfNeeded();
}
await import("../dist/tenantry.js");
