import * as z from "zod";
import { UnavailableError } from "../../../outbound/errors.ts";
import { addressOf } from "../../../outbound/send.ts";
import type { Api } from "./api.ts";
import { isTemporary } from "./errors.ts";

/** How long to wait between two polls of a job: the first time, and at most. */
const MIN_POLL_MS = 200;
const MAX_POLL_MS = 5000;

/** How long to wait for the end of a job, as a multiple of the timeout of a request. */
const JOB_TIMEOUT_FACTOR = 10;

const JobBody = z.object({
	status: z.object({
		state: z.string(),
		errorResult: z
			.object({ reason: z.string().default(""), message: z.string().default("") })
			.optional(),
	}),
});

/** Returns a multipart/related body (RFC 2387) with a job and the rows that it loads. */
function multipart(job: object, rows: Uint8Array[]) {
	const boundary = crypto.randomUUID();
	const part = (type: string) => `--${boundary}\r\nContent-Type: ${type}\r\n\r\n`;
	return {
		type: `multipart/related; boundary=${boundary}`,
		body: Buffer.concat([
			Buffer.from(
				`${part("application/json; charset=UTF-8")}${JSON.stringify(job)}\r\n${part("application/octet-stream")}`,
			),
			...rows,
			Buffer.from(`\r\n--${boundary}--\r\n`),
		]),
	};
}

/** Returns the function that runs jobs. `locate` returns the location of the dataset. */
export function jobRunner(
	api: Api,
	project_id: string,
	locate: () => Promise<string>,
	timeoutMs: number,
) {
	/** Waits for the end of a job. Returns the reason if it failed, otherwise null. */
	async function finish(jobId: string, location: string) {
		const deadline = Date.now() + timeoutMs * JOB_TIMEOUT_FACTOR;
		const query = { location, fields: "status(state,errorResult)" };
		for (let ms = MIN_POLL_MS; ; ms = Math.min(2 * ms, MAX_POLL_MS)) {
			const job = await api.ask(JobBody, [], "GET", `/jobs/${jobId}`, { query });
			if (job?.status.state === "DONE") return job.status.errorResult ?? null;
			if (Date.now() > deadline)
				throw new UnavailableError(
					`${addressOf(new URL(api.url))} did not finish the job ${jobId} within ${(timeoutMs * JOB_TIMEOUT_FACTOR) / 1000} seconds.`,
				);
			await scheduler.wait(ms);
		}
	}

	/**
	 * Runs a job, unless one with this ID has already succeeded: BigQuery rejects an existing ID.
	 * After a temporary error, runs the job again with the next number.
	 * @param id identifies the job and its content
	 * @param rows the rows of a load job
	 */
	return async (id: string, configuration: object, rows?: Uint8Array[]): Promise<void> => {
		const location = await locate();
		for (let n = 0; ; n += 1) {
			const jobId = `${id}_${n}`;
			const jobReference = { projectId: project_id, jobId, location };
			const job = { jobReference, configuration };
			const query = { fields: "status(state,errorResult)" };
			const request = rows
				? { ...multipart(job, rows), upload: true, query: { ...query, uploadType: "multipart" } }
				: { body: JSON.stringify(job), query };
			const isNew = await api.ask(JobBody, [409], "POST", "/jobs", request);
			const problem = await finish(jobId, location);
			if (problem === null) return;
			if (isNew || !isTemporary(problem)) throw api.explain(problem);
		}
	};
}
