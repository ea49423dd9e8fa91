import { reason } from "../../../outbound/errors.ts";
import { runSteps, stillThere } from "../../../outbound/steps.ts";
import { type Bucket, NO_MARK } from "../buckets/bucket.ts";
import type { Destination, Job } from "../destination.ts";
import { keysOf, testKey } from "./keys.ts";
import { type FilesConfig, formatOf } from "./names.ts";
import { filesSink } from "./sink.ts";
import type { State } from "./uploads.ts";

/**
 * Returns the destination that writes files to a bucket.
 * @param root returns the folder that contains the prefix; without a job, for tests
 * @param before the first steps of a test
 */
export function files(
	bucket: Bucket,
	config: FilesConfig,
	root: (job?: Job) => string,
	before: Record<string, () => Promise<unknown>> = {},
): Destination<State> {
	const { type } = formatOf(config);
	const keyOf = keysOf(config, root);
	return {
		async open(job, state, saveState, readState) {
			return filesSink(config, { bucket, job, type, keyOf, saveState, readState }, state);
		},

		async abort(job, { uploads }) {
			for (const [i, { id }] of uploads.entries()) await bucket.abort(keyOf(job, i), id);
		},

		test() {
			const key = testKey(config, root());
			return runSteps({
				...before,
				write: () => bucket.put(key, Buffer.from("test"), "text/plain", NO_MARK),
				remove: () =>
					bucket.remove(key).catch((error: unknown) => {
						throw new Error(`${reason(error)} ${stillThere(key)}`);
					}),
			});
		},
	};
}
