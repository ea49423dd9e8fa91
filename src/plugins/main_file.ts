/**
 * Names under which a plugin's main file is stored, wherever its package had it. The first that
 * exists is used.
 */
export const MAINS = ["index.ts", "index.js"];

/** JavaScript, or why the source doesn't compile. */
export type Compiled = { compiled: string; error: null } | { compiled: null; error: string };
