/** No test depends on how fast the machine is. These limits, in milliseconds, are reached only by what hangs. */

/** For a test or a hook. */
export const TEST_TIMEOUT_MS = 600_000;

/** For what a test waits for: shorter than the test's own limit, so that the failure names it. */
export const HANG_MS = 240_000;
