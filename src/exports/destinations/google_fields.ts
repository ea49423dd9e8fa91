/** The fields of Google's destinations. */
import { text } from "../../http/fields.ts";

/** The address of a service account. */
export const clientEmail = () =>
	text(255)
		.min(1)
		.regex(/^[^\s@]+@[^\s@]+$/, "Enter a valid email address.");

/** The setting that names a provider. */
export const workloadIdentityProvider = () =>
	text(512)
		.regex(
			/^projects\/\d+\/locations\/global\/workloadIdentityPools\/[a-z0-9-]+\/providers\/[a-z0-9-]+$/,
			"Enter projects/<number>/locations/global/workloadIdentityPools/<pool>/providers/<provider>.",
		)
		.nullish()
		.describe(
			"The workload identity provider that trusts the export, instead of a stored key: `projects/<number>/locations/global/workloadIdentityPools/<pool>/providers/<provider>`.",
		);
