import type { Destination } from "./destination.ts";

/** Takes everything, and keeps nothing. */
export const noop: Destination<Record<string, never>> = {
	database: false,
	resumes: true,
	open: async () => ({ write: async () => ({}), close: async () => [] }),
	abort: async () => {},
	test: async () => [],
};
