/**
 * Time limits in milliseconds. No test depends on the speed of the machine: only a hang reaches
 * them.
 */

/** For a test or a hook. */
export const TEST_TIMEOUT_MS = 600_000;

/**
 * For a wait for another process. Shorter than the test's own limit, so that the failure names the
 * wait.
 */
export const HANG_MS = 240_000;

/** For a wait for something in this process. */
export const LOCAL_HANG_MS = 120_000;
