#!/usr/bin/env node
import { existsSync } from "node:fs";

// Only the repository has the builder and the sources. The package has only the built file.
const builder = new URL("../build.js", import.meta.url);
if (existsSync(builder)) {
	const { buildIfNeeded } = await import(builder);
	await buildIfNeeded();
}
await import("../dist/tenantry.js");
