import { digest } from "../../../keys/keys.ts";
import { MisconfiguredError } from "../../../outbound/errors.ts";
import { type HttpResponse, sender, unavailable } from "../../../outbound/send.ts";
import { runSteps } from "../../../outbound/steps.ts";
import { jsonWriter } from "../../formats/lines.ts";
import type { Destination, Job } from "../destination.ts";
import type { Settings } from "./definition.ts";

/** The limits of one request (docs/exports.md#what-is-written). */
const MAX_EVENTS = 1000;
const MAX_BYTES = 5_000_000;

const HEAD = '{"batch":[';
const TAIL = '],"historical_migration":true}';

/** How many batches the receiver has accepted. */
type State = { batches: number };

function* bodies(objects: string[]) {
	let batch: string[] = [];
	let bytes = HEAD.length + TAIL.length;
	for (const object of objects) {
		const added = Buffer.byteLength(object) + 1;
		if (batch.length === MAX_EVENTS || bytes + added > MAX_BYTES) {
			if (batch.length > 0) yield HEAD + batch.join(",") + TAIL;
			batch = [];
			bytes = HEAD.length + TAIL.length;
		}
		batch.push(object);
		bytes += added;
	}
	yield HEAD + batch.join(",") + TAIL;
}

const PROBLEMS: Record<number, string> = {
	401: "The receiver rejected the token, or requires one.",
	403: "The receiver, or a firewall in front of it, doesn't allow the request: check the token, and whether the firewall refuses this service's User-Agent.",
};

/** @param key the request's Idempotency-Key, with which a 409 says that it is still being processed */
function assertAccepted(response: HttpResponse, key?: string) {
	const { status } = response;
	if (status < 300) return;
	if (status < 400)
		throw new MisconfiguredError("The url redirects: enter the URL that it redirects to.");
	if (status === 409 && key) throw unavailable(response);
	const problem = PROBLEMS[status] ?? "The receiver rejected the request.";
	throw new MisconfiguredError(`${problem} ${response.describe()}`);
}

/**
 * Returns the Idempotency-Key of a batch (docs/exports.md#what-is-written). It is a digest of the
 * export, the window and the body, so the same rows have the same key in every run. Rows without a
 * uuid may be equal, so their key includes the number of the batch.
 */
async function keyOf(job: Job, body: string, batch: number) {
	const { export_id, start, end, hasUuid: identified } = job;
	const parts = [export_id, start, end, identified ? "" : batch, body];
	return digest(parts.join("\n"));
}

/** Returns the destination that posts rows as batches of events. */
export function openHttp(env: Env, config: Settings, timeoutMs: number): Destination<State> {
	const { url, token } = config;
	const { send } = sender(env, timeoutMs);
	const secrets = token ? [token] : [];
	const post = (body: string, key?: string) =>
		send(
			new Request(url, {
				method: "POST",
				body,
				headers: {
					"content-type": "application/json",
					...(key && { "idempotency-key": key }),
					...(token && { authorization: `Bearer ${token}` }),
				},
			}),
			secrets,
		);

	return {
		resumes: true,
		async open(job, state) {
			let batches = state?.batches ?? 0;
			return {
				async write(rows) {
					for (const body of bodies(rows.map(jsonWriter(job.columns)))) {
						const key = await keyOf(job, body, batches);
						assertAccepted(await post(body, key), key);
						batches += 1;
					}
					return { batches };
				},
				close: async () => ({}),
			};
		},
		async abort() {},
		test() {
			let response: HttpResponse | undefined;
			return runSteps({
				reach: async () => {
					response = await post(HEAD + TAIL);
				},
				"sign in": async () => response && assertAccepted(response),
			});
		},
	};
}
