/**
 * BigQuery on loopback. An emulator from PyPI stores the data, loads it and runs SQL. A server in
 * front of it adds what the emulator lacks: it issues access tokens for signed JWTs and requires
 * them, never runs two jobs with the same ID, finishes jobs after a delay, checks the dataset's
 * location and quotas, and fails on demand.
 */
import { createPublicKey, generateKeyPairSync, verify } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import * as z from "zod";
import { NOT_INSTALLED } from "./missing.ts";
import { NotInstalled, onDemand, startServer } from "./peers.ts";
import { pythonWith } from "./python.ts";
import { serve } from "./registry.ts";

/** The service account, and the project and dataset that it can use. */
export const ACCOUNT = {
	project_id: "project-of-nobody",
	dataset_id: "exports",
	client_email: "exporter@project-of-nobody.iam.gserviceaccount.com",
	private_key_id: "key-of-nobody",
};

const LOCATION = "europe-west3";

const SCOPE = "https://www.googleapis.com/auth/bigquery";

const EMULATOR = "bqemulator==1.4.0";
/** Pinned, since the emulator doesn't pin their versions. */
const DEPENDENCIES = ["duckdb==2.0.0", "sqlglot==30.11.0", "numpy==2.4.6"];

/** An error in the format of Google's APIs. */
class Refusal extends Error {
	readonly status: number;
	readonly reason: string;
	constructor(status: number, reason: string, message: string) {
		super(message);
		this.status = status;
		this.reason = reason;
	}
}

type Answer = { status: number; body: unknown };

const read = async (request: IncomingMessage) => {
	const chunks: Uint8Array[] = [];
	for await (const chunk of request) chunks.push(chunk);
	return Buffer.concat(chunks);
};

const Claims = z.strictObject({
	iss: z.literal(ACCOUNT.client_email),
	scope: z.literal(SCOPE),
	aud: z.string(),
	iat: z.int(),
	exp: z.int(),
});

const Header = z.strictObject({
	alg: z.literal("RS256"),
	typ: z.literal("JWT"),
	kid: z.literal(ACCOUNT.private_key_id).optional(),
});

/** Issues tokens (RFC 7523). */
function issuer(publicKey: string) {
	const tokens = new Set<string>();
	const key = createPublicKey(publicKey);
	const rejection = (error: string, error_description: string): Answer => ({
		status: 400,
		body: { error, error_description },
	});
	function issue(body: URLSearchParams, uri: string): Answer {
		if (body.get("grant_type") !== "urn:ietf:params:oauth:grant-type:jwt-bearer")
			return rejection("unsupported_grant_type", "Invalid grant_type");
		const assertion = body.get("assertion") ?? "";
		const [header = "", claims = "", signature = ""] = assertion.split(".");
		const part = (text: string) => JSON.parse(Buffer.from(text, "base64url").toString());
		const isSigned = verify(
			"RSA-SHA256",
			Buffer.from(`${header}.${claims}`),
			key,
			Buffer.from(signature, "base64url"),
		);
		if (!isSigned)
			return rejection("invalid_grant", `Invalid JWT Signature. You sent ${assertion}`);
		if (!Header.safeParse(part(header)).success)
			return rejection("invalid_grant", "Invalid JWT header.");
		const { success, data } = Claims.safeParse(part(claims));
		if (!success) return rejection("invalid_grant", "Invalid JWT claims.");
		const now = Date.now() / 1000;
		if (data.aud !== uri) return rejection("invalid_grant", "Invalid audience.");
		if (data.iat > now + 60 || data.exp < now || data.exp > data.iat + 3600)
			return rejection("invalid_grant", "Invalid JWT: Token must be short-lived.");
		const access_token = `token-${crypto.randomUUID()}`;
		tokens.add(access_token);
		return {
			status: 200,
			body: { access_token, expires_in: 3599, token_type: "Bearer" },
		};
	}
	return { issue, tokens };
}

const Job = z.object({
	jobReference: z.strictObject({
		projectId: z.literal(ACCOUNT.project_id),
		jobId: z.string().regex(/^[\w-]{1,1024}$/),
		location: z.string(),
	}),
	configuration: z.union([
		z.strictObject({
			load: z.strictObject({
				destinationTable: z.strictObject({
					projectId: z.literal(ACCOUNT.project_id),
					datasetId: z.string(),
					tableId: z.string(),
				}),
				sourceFormat: z.literal("NEWLINE_DELIMITED_JSON"),
				createDisposition: z.literal("CREATE_NEVER"),
				writeDisposition: z.literal("WRITE_APPEND"),
			}),
		}),
		z.strictObject({
			query: z.strictObject({
				query: z.string(),
				useLegacySql: z.literal(false),
			}),
		}),
	]),
});

const Failure = z.object({ reason: z.string(), message: z.string() });

const Status = z.object({
	state: z.string(),
	errorResult: Failure.optional(),
});

type Status = z.infer<typeof Status>;

type Known = {
	status: Status;
	/** The number of requests for its status. */
	asked: number;
	kind: "load" | "query";
	table: string;
};

/** Errors of jobs, by the name of the fault. */
const JOB_FAULTS: Record<string, Status["errorResult"]> = {
	"job-backend": {
		reason: "backendError",
		message: "An internal error occurred, retry.",
	},
	"job-conflict": {
		reason: "invalidQuery",
		message: "Could not serialize access to table events due to concurrent update",
	},
};

/** The response to every third request, by the name of the fault. */
const REFUSALS: Record<string, Refusal> = {
	rate: new Refusal(
		403,
		"rateLimitExceeded",
		"Exceeded rate limits: too many api requests per user per method.",
	),
};

/** The response to every request that runs a job, by the name of the fault. */
const JOB_REFUSALS: Record<string, Refusal> = {
	"no-job-user": new Refusal(
		403,
		"accessDenied",
		"Access Denied: Project project-of-nobody: User does not have bigquery.jobs.create permission.",
	),
	"no-billing": new Refusal(
		403,
		"billingNotEnabled",
		"Billing has not been enabled for this project.",
	),
	quota: new Refusal(
		403,
		"quotaExceeded",
		"Quota exceeded: Your table exceeded quota for imports or query appends per table.",
	),
	bad: new Refusal(400, "invalid", "Bad bits."),
};

/** The response to all other requests, by the name of the fault. */
const TABLE_REFUSALS: Record<string, Refusal> = {
	"no-data-editor": new Refusal(
		403,
		"accessDenied",
		"Access Denied: Permission bigquery.tables.create denied on dataset project-of-nobody:exports.",
	),
	disabled: new Refusal(
		403,
		"accessNotConfigured",
		"BigQuery API has not been used in project 1 before or it is disabled.",
	),
};

const MAX_LOADS_A_TABLE = 1500;

/**
 * Starts BigQuery. Under `/faults/<names>/<any name>`, the API fails as these names say: `503`,
 * `rate`, `expired` and `dropped` (the connection closes after the request was executed) at every
 * third request of a method and path; `job-backend` and `job-conflict` at the first job of each ID;
 * `down`, `rejected` and the faults in the tables above always. `POST /sql` responds with the
 * result of a query, `GET /jobs/<table>` with the jobs of a table.
 */
export async function bigqueries() {
	const { privateKey, publicKey } = generateKeyPairSync("rsa", {
		modulusLength: 2048,
		privateKeyEncoding: { type: "pkcs8", format: "pem" },
		publicKeyEncoding: { type: "spki", format: "pem" },
	});
	const { issue, tokens } = issuer(publicKey);
	const jobs = new Map<string, Known>();
	const counts = new Map<string, number>();
	const port = await onDemand("BigQuery", async () => {
		const python = await pythonWith([EMULATOR], DEPENDENCIES);
		const port = await startServer("bigquery", (port) => [
			python,
			`${import.meta.dirname}/bigquery.py`,
			String(port),
		]);
		const made = await fetch(
			`http://127.0.0.1:${port}/bigquery/v2/projects/${ACCOUNT.project_id}/datasets`,
			{
				method: "POST",
				headers: { "content-type": "application/json" },
				body: JSON.stringify({
					datasetReference: {
						projectId: ACCOUNT.project_id,
						datasetId: ACCOUNT.dataset_id,
					},
					location: LOCATION,
				}),
			},
		);
		if (!made.ok) throw new Error(await made.text());
		return port;
	});

	const root = `/bigquery/v2/projects/${ACCOUNT.project_id}`;

	async function forward(
		method: string,
		path: string,
		body?: Uint8Array<ArrayBuffer> | string,
		type = "application/json",
	): Promise<Answer> {
		const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
			method,
			headers: { connection: "close", ...(body && { "content-type": type }) },
			...(body && { body }),
		});
		const text = await answer.text();
		if (answer.status === NOT_INSTALLED) throw new NotInstalled(text);
		return { status: answer.status, body: text ? JSON.parse(text) : null };
	}

	const isThere = async (table: string) =>
		(
			await forward(
				"GET",
				`${root}/datasets/${ACCOUNT.dataset_id}/tables/${encodeURIComponent(table)}`,
			)
		).status === 200;

	/** Runs a job and returns its result. */
	async function carryOut(
		job: z.infer<typeof Job>,
		body: Buffer<ArrayBuffer>,
		type: string,
	): Promise<Status> {
		const { configuration } = job;
		if ("load" in configuration) {
			const { datasetId, tableId } = configuration.load.destinationTable;
			const failed = (reason: string, message: string) => ({
				state: "DONE",
				errorResult: { reason, message },
			});
			if (!(await isThere(tableId)))
				return failed("notFound", `Not found: Table ${ACCOUNT.project_id}:${datasetId}.${tableId}`);
			const loads = [...jobs.values()].filter(
				({ kind, table }) => kind === "load" && table === tableId,
			);
			if (loads.length >= MAX_LOADS_A_TABLE)
				return failed("quotaExceeded", "Quota exceeded: too many imports.");
		}
		const path =
			"load" in configuration ? `/upload${root}/jobs?uploadType=multipart` : `${root}/jobs`;
		const answer = await forward("POST", path, body, type);
		const found = z.object({ status: Status }).safeParse(answer.body);
		if (found.success) return found.data.status;
		const { error } = z.object({ error: z.object({ message: z.string() }) }).parse(answer.body);
		return {
			state: "DONE",
			errorResult: { reason: "invalid", message: error.message },
		};
	}

	async function insertJob(
		query: URLSearchParams,
		isUpload: boolean,
		body: Buffer<ArrayBuffer>,
		type: string,
		faults: string[],
	): Promise<Answer> {
		let text = body.toString();
		if (isUpload) {
			const [, boundary] = /^multipart\/related; boundary=(\S+)$/.exec(type) ?? [];
			if (boundary === undefined || query.get("uploadType") !== "multipart")
				throw new Refusal(400, "badContent", "Not a multipart upload.");
			const parts = body.toString().split(`--${boundary}`);
			if (parts.length !== 4 || parts[0] !== "" || parts[3] !== "--\r\n")
				throw new Refusal(400, "badContent", "Malformed multipart body.");
			text = parts[1]?.split("\r\n\r\n")[1] ?? "";
		}
		const { success, data: job, error } = Job.safeParse(JSON.parse(text));
		if (!success) throw new Refusal(400, "invalid", error.message);
		const { jobId, location } = job.jobReference;
		const kind = "load" in job.configuration ? "load" : "query";
		if ((kind === "load") !== isUpload)
			throw new Refusal(400, "invalid", "A load job needs an upload.");
		const rejection = faults.map((name) => JOB_REFUSALS[name]).find(Boolean);
		if (rejection) throw rejection;
		if (location !== LOCATION)
			throw new Refusal(
				404,
				"notFound",
				`Not found: Dataset ${ACCOUNT.project_id}:${ACCOUNT.dataset_id} was not found in location ${location}`,
			);
		if (jobs.has(jobId))
			throw new Refusal(
				409,
				"duplicate",
				`Already Exists: Job ${ACCOUNT.project_id}:${location}.${jobId}`,
			);
		const [fault] = faults.flatMap((name) => JOB_FAULTS[name] ?? []);
		const known: Known = {
			status: { state: "RUNNING" },
			asked: 0,
			kind,
			table:
				"load" in job.configuration
					? job.configuration.load.destinationTable.tableId
					: (/FROM .*`([^`]+)`\n/.exec(job.configuration.query.query)?.[1] ?? ""),
		};
		jobs.set(jobId, known);
		known.status =
			fault && jobId.endsWith("_0")
				? { state: "DONE", errorResult: fault }
				: await carryOut(job, body, type);
		return { status: 200, body: { status: { state: "RUNNING" } } };
	}

	function findJob(jobId: string, query: URLSearchParams) {
		const known = jobs.get(jobId);
		if (!known || query.get("location") !== LOCATION)
			throw new Refusal(404, "notFound", `Not found: Job ${jobId}`);
		known.asked += 1;
		const isDone = known.asked > 1;
		const status = isDone ? known.status : { state: "RUNNING" };
		return { status: 200, body: { status } };
	}

	/** Staging tables and test tables need an expiration time. */
	function checkTable(body: Buffer) {
		const { tableReference, expirationTime } = z
			.object({
				tableReference: z.object({ tableId: z.string() }),
				expirationTime: z.string().optional(),
			})
			.parse(JSON.parse(body.toString()));
		const expires = Number(expirationTime ?? Number.POSITIVE_INFINITY);
		const isTemporary = tableReference.tableId.startsWith("tenantry_");
		if (isTemporary && !(expires > Date.now() && expires < Infinity))
			throw new Refusal(400, "invalid", "It would stay.");
	}

	/** Returns the API's response to a request with a valid token. */
	async function answer(
		request: { method: string; path: string; query: URLSearchParams },
		body: Buffer<ArrayBuffer>,
		type: string,
		faults: string[],
	): Promise<Answer> {
		const { method, path, query } = request;
		const isUpload = path.startsWith("/upload/");
		const below = path.replace(/^\/upload/, "");
		if (!below.startsWith(`${root}/`)) throw new Refusal(404, "notFound", "Not found: Project");
		const resource = below.slice(root.length);
		const [, jobId] = /^\/jobs\/([^/]+)$/.exec(resource) ?? [];
		if (jobId !== undefined) return findJob(jobId, query);
		if (resource === "/jobs" && method === "POST")
			return insertJob(query, isUpload, body, type, faults);
		const rejection = faults.map((name) => TABLE_REFUSALS[name]).find(Boolean);
		if (rejection) throw rejection;
		const [, dataset] = /^\/datasets\/([^/]+)/.exec(resource) ?? [];
		if (dataset !== ACCOUNT.dataset_id)
			throw new Refusal(404, "notFound", `Not found: Dataset ${ACCOUNT.project_id}:${dataset}`);
		if (method === "POST" && resource.endsWith("/tables")) checkTable(body);
		return forward(method, below, body.length > 0 ? body : undefined, type || undefined);
	}

	/** Returns the result of a query: objects with string values. */
	async function sql(query: string) {
		const answer = await forward(
			"POST",
			`${root}/queries`,
			JSON.stringify({ query, useLegacySql: false, maxResults: 1000 }),
		);
		const { success, data } = z
			.object({
				schema: z.object({ fields: z.array(z.object({ name: z.string() })) }).optional(),
				rows: z.array(z.object({ f: z.array(z.object({ v: z.unknown() })) })).optional(),
			})
			.safeParse(answer.body);
		if (answer.status !== 200 || !success) throw new Error(JSON.stringify(answer.body));
		return (data.rows ?? []).map(({ f }) =>
			Object.fromEntries(f.map(({ v }, i) => [data.schema?.fields[i]?.name, v])),
		);
	}

	/** Whether this is the first, fourth, seventh, … request of its kind. */
	function isThird(name: string) {
		const count = (counts.get(name) ?? 0) + 1;
		counts.set(name, count);
		return count % 3 === 1;
	}

	async function handle(request: IncomingMessage, response: ServerResponse) {
		const { method = "", url = "", headers } = request;
		const { pathname, searchParams: query } = new URL(url, "http://bigquery");
		const body = await read(request);
		const say = ({ status, body }: Answer) => {
			response.statusCode = status;
			response.setHeader("content-type", "application/json");
			response.end(body === null ? "" : JSON.stringify(body));
		};
		if (pathname === "/token")
			return say(issue(new URLSearchParams(body.toString()), `http://${headers.host}${pathname}`));
		if (pathname === "/sql") return say({ status: 200, body: await sql(body.toString()) });
		if (pathname.startsWith("/jobs/"))
			return say({
				status: 200,
				body: [...jobs]
					.filter(([, { table }]) => table === pathname.slice("/jobs/".length))
					.map(([id, { kind }]) => ({ id, kind })),
			});
		const [, prefix = "", names = ""] = /^(\/faults\/([^/]+)\/[^/]+)/.exec(pathname) ?? [];
		const path = pathname.slice(prefix.length);
		const faults = names.split(",");
		const token = /^Bearer (.+)$/.exec(headers.authorization ?? "")?.[1] ?? "";
		const kind = [prefix, method, path].join(" ");
		const isFaulty = (name: string) => faults.includes(name) && isThird(`${kind} ${name}`);
		try {
			if (faults.includes("rejected") || isFaulty("expired")) tokens.delete(token);
			if (!tokens.has(token))
				throw new Refusal(
					401,
					"authError",
					`Request had invalid authentication credentials: ${token}.`,
				);
			if (faults.includes("down") || isFaulty("503"))
				throw new Refusal(503, "backendError", "Try again.");
			for (const [name, rejection] of Object.entries(REFUSALS)) if (isFaulty(name)) throw rejection;
			const result = await answer(
				{ method, path, query },
				body,
				headers["content-type"] ?? "",
				faults,
			);
			if (isFaulty("dropped")) return request.socket.destroy();
			say(result);
		} catch (error) {
			if (!(error instanceof Refusal)) throw error;
			const { status, reason, message } = error;
			say({
				status,
				body: {
					error: {
						code: status,
						message,
						errors: [{ domain: "global", reason, message }],
					},
				},
			});
		}
	}

	const BIGQUERY_URL = await serve((request, response) => {
		handle(request, response).catch((error: unknown) => {
			const isInstalled = !(error instanceof NotInstalled);
			response.statusCode = isInstalled ? 400 : NOT_INSTALLED;
			response.end(
				isInstalled ? JSON.stringify({ error: { message: String(error) } }) : error.message,
			);
		});
	});
	return { BIGQUERY_URL, BIGQUERY_PRIVATE_KEY: privateKey };
}
