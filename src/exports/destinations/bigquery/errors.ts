import { MisconfiguredError } from "../../../outbound/errors.ts";
import { quote } from "../../../outbound/quote.ts";
import { addressOf } from "../../../outbound/send.ts";
import type { Settings } from "./definition.ts";

/** The API's error for a request or a job. `reason` is one of its documented codes, or "". */
export type Problem = { reason: string; message: string };

export const STAGING = "tenantry_staging_";

/** Reasons that are temporary (BigQuery, "Error messages"). */
const TEMPORARY_REASONS = [
	"backendError",
	"internalError",
	"jobBackendError",
	"jobInternalError",
	"jobRateLimitExceeded",
	"quotaExceeded",
	"rateLimitExceeded",
	"stopped",
	"tableUnavailable",
	"timeout",
];

/** A MERGE that conflicts with other changes of its table has the same reason as invalid SQL. */
const CONFLICT = /concurrent update|too many DML statements/i;

export const isTemporary = ({ reason, message }: Problem) =>
	TEMPORARY_REASONS.includes(reason) || CONFLICT.test(message);

/** Returns the meaning of a problem for the user; undefined if it is unknown. */
function meaningOf({ reason, message }: Problem, { project_id, dataset_id, ...config }: Settings) {
	const who = config.client_email ? "The service account" : "The principal of the export";
	switch (reason) {
		case "accessDenied":
			return /jobs\.create/.test(message)
				? `${who} needs the role BigQuery Job User in the project ${project_id}.`
				: `${who} needs the role BigQuery Data Editor for the dataset ${dataset_id}, and BigQuery Job User in the project ${project_id}.`;
		case "accessNotConfigured":
			return `The BigQuery API is disabled in the project ${project_id}: enable it.`;
		case "authError":
			return "BigQuery rejects the access token.";
		case "billingNotEnabled":
			return `Enable billing for the project ${project_id}: BigQuery doesn't run MERGE without it.`;
		case "notFound":
			if (/^not found: dataset/i.test(message))
				return `There is no dataset ${dataset_id} in the project ${project_id}.`;
			return message.includes(STAGING)
				? "The staging table is gone: somebody removed it, or it expired after a week. Retry the run."
				: undefined;
		case "quotaExceeded":
			return `A quota of the project ${project_id} is used up.`;
		case "rateLimitExceeded":
		case "jobRateLimitExceeded":
			return "Too many requests are being sent to BigQuery.";
	}
	return undefined;
}

/** Returns the error for a problem, with a message without `secrets`. */
export function errorOf(
	problem: Problem,
	{ config, url, secrets }: { config: Settings; url: string; secrets: string[] },
): Error {
	const message = [
		meaningOf(problem, config),
		`${addressOf(new URL(url))} says: ${quote(secrets, problem.message)}`,
	]
		.filter(Boolean)
		.join(" ");
	return isTemporary(problem) ? new Error(message) : new MisconfiguredError(message);
}
