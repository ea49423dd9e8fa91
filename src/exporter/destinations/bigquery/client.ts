import * as z from "zod";
import { Unavailable } from "../destination.ts";
import { addressOf, exchange, send } from "../send.ts";
import { errorOf, isTemporary, type Problem, type Settings } from "./errors.ts";
import { issueToken, jsonOf, tokenUri } from "./token.ts";

const ENDPOINT = "https://bigquery.googleapis.com";

/** How long to wait before a job is asked about again: at first, and at most. */
const MIN_POLL_MS = 200;
const MAX_POLL_MS = 5000;

/** How many times as long as for an answer to wait for the end of a job. */
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

type Asked = {
	query?: Record<string, string>;
	body?: Uint8Array | string | undefined;
	type?: string;
	upload?: boolean;
};

/** What came of a request: an answer, or an error that the API describes. */
type Reply = { status: number; json: unknown; problem: Problem | null };

/** The parts of a multipart/related body (RFC 2387): the job and the rows that it loads. */
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
 * BigQuery's REST API (version 2), as far as an export needs it. The access token is kept as long as the client.
 * @param timeoutMs how long a server may take for an answer
 */
export function connect(env: Env, config: Settings, timeoutMs: number) {
	const { project_id, dataset_id, private_key } = config;
	const url = (config.endpoint_url ?? ENDPOINT).replace(/\/$/, "");
	const project = `/bigquery/v2/projects/${encodeURIComponent(project_id)}`;
	const dataset = `/datasets/${dataset_id}`;
	const pathOf = (table: string) => `${dataset}/tables/${encodeURIComponent(table)}`;
	let token: string | undefined;
	let location: string | undefined;
	/** What servers may repeat and nobody may read. */
	const secrets = () => [private_key, ...(token ? [token] : [])];

	async function request(
		method: string,
		path: string,
		{ query = {}, body, type = "application/json", upload = false }: Asked = {},
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

	/** The answer's body; null: its status is one of `expected`, which stand for an error that is none here. */
	async function ask<S extends z.ZodType>(
		shape: S,
		expected: number[],
		...what: Parameters<typeof request>
	): Promise<z.output<S> | null> {
		const { status, json, problem } = await request(...what);
		if (problem && expected.includes(status)) return null;
		if (problem) throw explain(problem);
		const { success, data } = shape.safeParse(json);
		if (success) return data;
		throw explain({
			reason: "",
			message: `an answer that BigQuery doesn't give (status ${status})`,
		});
	}

	/** Where the dataset is, and so where its jobs run. */
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

	/** Waits until a job is done. Answers why it failed, or null. */
	async function finish(jobId: string, location: string) {
		const deadline = Date.now() + timeoutMs * JOB_TIMEOUT_FACTOR;
		for (let ms = MIN_POLL_MS; ; ms = Math.min(2 * ms, MAX_POLL_MS)) {
			const job = await ask(JobBody, [], "GET", `/jobs/${jobId}`, {
				query: { location, fields: "status(state,errorResult)" },
			});
			if (job?.status.state === "DONE") return job.status.errorResult ?? null;
			if (Date.now() > deadline)
				throw new Unavailable(
					`${addressOf(new URL(url))} has not finished the job ${jobId} within ${(timeoutMs * JOB_TIMEOUT_FACTOR) / 1000} seconds.`,
				);
			await scheduler.wait(ms);
		}
	}

	/**
	 * Runs a job unless one of this ID has succeeded before: BigQuery refuses an ID that it knows. A job that failed for a
	 * reason that may pass gives its place to one with the next number.
	 * @param id the same ID stands for the same job
	 * @param rows what a load job loads
	 */
	async function runJob(id: string, configuration: object, rows?: Uint8Array[]): Promise<void> {
		const where = location ?? (await locate());
		for (let n = 0; ; n += 1) {
			const jobId = `${id}_${n}`;
			const job = {
				jobReference: { projectId: project_id, jobId, location: where },
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
			const problem = await finish(jobId, where);
			if (problem === null) return;
			if (isNew || !isTemporary(problem)) throw explain(problem);
		}
	}

	return {
		locate,

		/** Throws unless both servers answer, whatever they answer. */
		async reach() {
			for (const server of new Set([tokenUri(config), url]))
				await exchange(env, new Request(server), { timeoutMs, secrets: [] });
		},

		async signIn() {
			token = await issueToken(env, config, timeoutMs);
		},

		/** The columns of a table; null: there is no such table. */
		async fieldsOf(table: string): Promise<Fields | null> {
			const query = { fields: "schema(fields(name,type))" };
			const found = await ask(TableBody, [404], "GET", pathOf(table), {
				query,
			});
			return found?.schema.fields ?? null;
		},

		/**
		 * Makes a table unless it is there.
		 * @param lifetimeMs after how long BigQuery removes it; undefined: it stays
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

		/** Removes a table, if it is there. */
		async dropTable(table: string) {
			await ask(z.unknown(), [404], "DELETE", pathOf(table));
		},

		/** Adds rows, one JSON object a line, to a table. */
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
