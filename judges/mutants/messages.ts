/** The messages between the command and the process that runs tests. */
import * as z from "zod";

/**
 * The tests to run: lists of test files or folders, one after another, and the changed content of a
 * file.
 */
export const Task = z.object({
	tests: z.array(z.array(z.string())),
	file: z.string().optional(),
	code: z.string().optional(),
});

/** The first test that failed, or null. The first message says that the process is ready. */
export const Answer = z.object({ failed: z.string().nullable() });
