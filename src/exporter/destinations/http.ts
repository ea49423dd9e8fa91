import { digest } from "../../auth/keys.ts";
import { jsonWriter } from "../formats/jsonlines.ts";
import type { Config } from "./config.ts";
import { type Destination, type Job, Misconfigured } from "./destination.ts";
import { type Answer, send } from "./send.ts";
import { runSteps } from "./steps.ts";

/** What one request holds at most (docs/exports.md#what-is-written). */
const MAX_EVENTS = 1000;
const MAX_BYTES = 5_000_000;

const HEAD = '{"batch":[';
const TAIL = '],"historical_migration":true}';

/** How many batches the receiver has taken. */
export type State = { batches: number };

/** JSON objects in bodies of requests. */
function* bodies(objects: string[]) {
	let batch: string[] = [];
	let bytes = HEAD.length + TAIL.length;
	for (const object of objects) {
		const more = Buffer.byteLength(object) + 1;
		if (batch.length === MAX_EVENTS || bytes + more > MAX_BYTES) {
			if (batch.length > 0) yield HEAD + batch.join(",") + TAIL;
			batch = [];
			bytes = HEAD.length + TAIL.length;
		}
		batch.push(object);
		bytes += more;
	}
	yield HEAD + batch.join(",") + TAIL;
}

function assertAccepted(answer: Answer) {
	const { status } = answer;
	if (status < 300) return;
	if (status < 400)
		throw new Misconfigured("The url leads elsewhere: give the address where it ends.");
	const problem = [401, 403].includes(status)
		? "The receiver refuses the token, or requires one."
		: "The receiver refuses the request.";
	throw new Misconfigured(`${problem} ${answer.describe()}`);
}

/**
 * The Idempotency-Key of a batch (docs/exports.md#what-is-written): of the export, the window and the body, so that the same rows have the
 * same key whoever sends them, and one key never stands for two bodies. Rows without a uuid may be alike: there the
 * number of the batch tells bodies apart.
 */
async function keyOf(job: Job, body: string, batch: number) {
	const { export_id, start, end, identified } = job;
	const parts = [export_id, start, end, identified ? "" : batch, body];
	return digest(parts.join("\n"));
}

/** Posts rows as batches of events. */
export function http(
	env: Env,
	{ url, token }: Config<"HTTP">,
	timeoutMs: number,
): Destination<State> {
	const secrets = token ? [token] : [];
	const post = (body: string, key?: string) =>
		send(
			env,
			new Request(url, {
				method: "POST",
				body,
				headers: {
					"content-type": "application/json",
					...(key && { "idempotency-key": key }),
					...(token && { authorization: `Bearer ${token}` }),
				},
			}),
			{ timeoutMs, secrets },
		);

	return {
		database: false,
		resumes: true,
		async open(job, state) {
			let batches = state?.batches ?? 0;
			return {
				async write(rows) {
					for (const body of bodies(rows.map(jsonWriter(job.columns)))) {
						assertAccepted(await post(body, await keyOf(job, body, batches)));
						batches += 1;
					}
					return { batches };
				},
				close: async () => [],
			};
		},
		async abort() {},
		test() {
			let answer: Answer | undefined;
			return runSteps({
				reach: async () => {
					answer = await post(HEAD + TAIL);
				},
				"sign in": async () => answer && assertAccepted(answer),
			});
		},
	};
}
