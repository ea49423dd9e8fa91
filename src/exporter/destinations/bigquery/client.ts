import * as z from "zod";
import { Unavailable } from "../destination.ts";
import { addressOf, exchange, send } from "../send.ts";
import { errorOf, isTemporary, type Problem, type Settings } from "./errors.ts";
import { issueToken, jsonOf, tokenUri } from "./token.ts";

const ENDPOINT = "https://bigquery.googleapis.com";

/** How long to wait between two polls of a job: at first, and at most. */
const MIN_POLL_MS = 200;
const MAX_POLL_MS = 5000;

/** How long to wait for the end of a job, as a multiple of the timeout of a request. */
const JOB_TIMEOUT_FACTOR = 10;

const ErrorBody = z.object({
	error: z.object({
		message: z.string().default(""),
		errors: z.array(z.object({ reason: z.string() })).default([]),
	}),
});

const DatasetBody = z.object({ location: z.string() });

const TableBody = z.object({
	schema: z
		.object({
			fields: z.array(z.object({ name: z.string(), type: z.string() })),
		})
		.default({ fields: [] }),
});

const JobBody = z.object({
	status: z.object({
		state: z.string(),
		errorResult: z
			.object({
				reason: z.string().default(""),
				message: z.string().default(""),
			})
			.optional(),
	}),
});

/** The columns of a table: name and type. */
export type Fields = { name: string; type: string }[];

type Options = {
	query?: Record<string, string>;
	body?: Uint8Array | string | undefined;
	type?: string;
	upload?: boolean;
};

/** The result of a request. `problem` is the error that the API describes. */
type Reply = { status: number; json: unknown; problem: Problem | null };

/** A multipart/related body (RFC 2387) of a job and the rows that it loads. */
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

export type Client = ReturnType<typeof connect>;

/**
 * A client for the parts of BigQuery's REST API (version 2) that exports need. It keeps its access token.
 * @param timeoutMs how long a server may take for a response
 */
export function connect(env: Env, config: Settings, timeoutMs: number) {
	const { project_id, dataset_id, private_key } = config;
	const url = (config.endpoint_url ?? ENDPOINT).replace(/\/$/, "");
	const project = `/bigquery/v2/projects/${encodeURIComponent(project_id)}`;
	const dataset = `/datasets/${dataset_id}`;
	const pathOf = (table: string) => `${dataset}/tables/${encodeURIComponent(table)}`;
	let token: string | undefined;
	let location: string | undefined;
	/** What is hidden in the server's messages. */
	const secrets = () => [private_key, ...(token ? [token] : [])];

	async function request(
		method: string,
		path: string,
		{ query = {}, body, type = "application/json", upload = false }: Options = {},
		isSecondTry = false,
	): Promise<Reply> {
		token ??= await issueToken(env, config, timeoutMs);
		const address = new URL(`${url}${upload ? "/upload" : ""}${project}${path}`);
		for (const [name, value] of Object.entries(query)) address.searchParams.set(name, value);
		const { status, text } = await send(
			env,
			new Request(address, {
				method,
				headers: {
					authorization: `Bearer ${token}`,
					...(body !== undefined && { "content-type": type }),
				},
				...(body !== undefined && { body }),
			}),
			{ timeoutMs, secrets: secrets() },
		);
		if (status === 401 && !isSecondTry) {
			token = undefined;
			return request(method, path, { query, body, type, upload }, true);
		}
		const json = jsonOf(text);
		if (status < 300) return { status, json, problem: null };
		const { error } = ErrorBody.safeParse(json).data ?? {};
		const problem = {
			reason: error?.errors[0]?.reason ?? (status === 401 ? "authError" : ""),
			message: error?.message || `status ${status}`,
		};
		return { status, json, problem };
	}

	const explain = (problem: Problem) =>
		errorOf(problem, {
			config,
			url,
			secrets: secrets(),
		});

	/** The body of a response; null if it is an error whose status is one of `expected`. */
	async function ask<S extends z.ZodType>(
		shape: S,
		expected: number[],
		...options: Parameters<typeof request>
	): Promise<z.output<S> | null> {
		const { status, json, problem } = await request(...options);
		if (problem && expected.includes(status)) return null;
		if (problem) throw explain(problem);
		const { success, data } = shape.safeParse(json);
		if (success) return data;
		throw explain({
			reason: "",
			message: `a response that isn't BigQuery's (status ${status})`,
		});
	}

	/** The location of the dataset, in which its jobs have to run. */
	async function locate() {
		const found = await ask(DatasetBody, [], "GET", dataset, {
			query: { fields: "location" },
		});
		location ??= found?.location ?? "";
		return location;
	}

	const tableReference = (table: string) => ({
		projectId: project_id,
		datasetId: dataset_id,
		tableId: table,
	});

	/** Waits for the end of a job. Returns why it failed, or null. */
	async function finish(jobId: string, location: string) {
		const deadline = Date.now() + timeoutMs * JOB_TIMEOUT_FACTOR;
		for (let ms = MIN_POLL_MS; ; ms = Math.min(2 * ms, MAX_POLL_MS)) {
			const job = await ask(JobBody, [], "GET", `/jobs/${jobId}`, {
				query: { location, fields: "status(state,errorResult)" },
			});
			if (job?.status.state === "DONE") return job.status.errorResult ?? null;
			if (Date.now() > deadline)
				throw new Unavailable(
					`${addressOf(new URL(url))} did not finish the job ${jobId} within ${(timeoutMs * JOB_TIMEOUT_FACTOR) / 1000} seconds.`,
				);
			await scheduler.wait(ms);
		}
	}

	/**
	 * Runs a job, unless one with this ID has succeeded before: BigQuery rejects an ID that exists. After a temporary error,
	 * the job is run again under the next number.
	 * @param id identifies the job and its content
	 * @param rows the rows of a load job
	 */
	async function runJob(id: string, configuration: object, rows?: Uint8Array[]): Promise<void> {
		const jobLocation = location ?? (await locate());
		for (let n = 0; ; n += 1) {
			const jobId = `${id}_${n}`;
			const job = {
				jobReference: { projectId: project_id, jobId, location: jobLocation },
				configuration,
			};
			const query = { fields: "status(state,errorResult)" };
			const isNew = await ask(
				JobBody,
				[409],
				"POST",
				"/jobs",
				rows
					? {
							...multipart(job, rows),
							upload: true,
							query: { ...query, uploadType: "multipart" },
						}
					: { body: JSON.stringify(job), query },
			);
			const problem = await finish(jobId, jobLocation);
			if (problem === null) return;
			if (isNew || !isTemporary(problem)) throw explain(problem);
		}
	}

	return {
		locate,

		/** @throws if the token server or BigQuery doesn't respond; the status doesn't matter */
		async reach() {
			for (const server of new Set([tokenUri(config), url]))
				await exchange(env, new Request(server), { timeoutMs, secrets: [] });
		},

		async signIn() {
			token = await issueToken(env, config, timeoutMs);
		},

		/** The columns of a table; null if there is no such table. */
		async fieldsOf(table: string): Promise<Fields | null> {
			const query = { fields: "schema(fields(name,type))" };
			const found = await ask(TableBody, [404], "GET", pathOf(table), {
				query,
			});
			return found?.schema.fields ?? null;
		},

		/**
		 * Creates a table unless it exists.
		 * @param lifetimeMs when BigQuery removes it; undefined for never
		 */
		async createTable(table: string, fields: Fields, lifetimeMs?: number) {
			await ask(z.unknown(), [409], "POST", `${dataset}/tables`, {
				body: JSON.stringify({
					tableReference: tableReference(table),
					schema: { fields },
					...(lifetimeMs !== undefined && {
						expirationTime: String(Date.now() + lifetimeMs),
					}),
				}),
			});
		},

		/** Removes a table if it exists. */
		async dropTable(table: string) {
			await ask(z.unknown(), [404], "DELETE", pathOf(table));
		},

		/** Appends rows, one JSON object per line, to a table. */
		load: (id: string, table: string, rows: Uint8Array[]) =>
			runJob(
				id,
				{
					load: {
						destinationTable: tableReference(table),
						sourceFormat: "NEWLINE_DELIMITED_JSON",
						createDisposition: "CREATE_NEVER",
						writeDisposition: "WRITE_APPEND",
					},
				},
				rows,
			),

		query: (id: string, sql: string) => runJob(id, { query: { query: sql, useLegacySql: false } }),
	};
}
