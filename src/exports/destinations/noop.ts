import * as z from "zod";
import { define } from "./definition.ts";
import type { Destination } from "./destination.ts";

export const noop = define({
	title: "Nowhere (for tests)",
	kind: "nothing",
	config: z.object({}),
	place: null,
	secrets: [],
	server: null,
	test: [],
});

/** Accepts all rows and stores none. */
export const nowhere = (): Destination<Record<string, never>> => ({
	resumes: true,
	open: async () => ({ write: async () => ({}), close: async () => ({}) }),
	abort: async () => {},
	test: async () => [],
});
