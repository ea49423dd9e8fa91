import * as z from "zod";
import { issue, rawText, text } from "../../../http/fields.ts";
import { defineBucket } from "../definition.ts";
import { compressible, endpoint, file } from "../fields.ts";

const NOT_A_TOKEN = "A SAS token is the part of a SAS URL after the question mark.";

const config = z
	.object({
		container_name: text(63)
			.regex(
				/^[a-z0-9]+(-[a-z0-9]+)*$/,
				"The name of a container can only have lowercase letters, digits and single hyphens.",
			)
			.refine((value) => value.length >= 3, {
				error: "The name of a container must have at least 3 characters.",
			})
			.meta({ minLength: 3, description: "The container." }),
		...file,
		account_name: text(24)
			.regex(
				/^[a-z0-9]{3,24}$/,
				"The name of a storage account must have 3 to 24 lowercase letters and digits.",
			)
			.describe("The storage account."),
		tenant_id: text(255)
			.regex(/^[a-z\d][a-z\d.-]*$/i, "Enter the id of the tenant, or one of its domains.")
			.nullish()
			.describe("The tenant of the application."),
		client_id: text(36)
			.pipe(z.guid("Enter the id of the application (client)."))
			.nullish()
			.describe(
				"The id of the application that trusts the export, instead of a stored key; requires `tenant_id`.",
			),
		account_key: rawText(255)
			.min(1)
			.pipe(z.base64("An account key must be in Base64."))
			.meta({ maxLength: 255 })
			.nullish()
			.describe("The account's key; either this, `sas_token` or `client_id` is required."),
		sas_token: rawText(4096)
			.min(1)
			.regex(/^[\w.~%!$&'()*+,;=:@/?-]+$/, NOT_A_TOKEN)
			.refine((token) => /(?:^\??|&)sig=./.test(token), NOT_A_TOKEN)
			.nullish()
			.describe("A shared access signature: the part of its URL after the question mark."),
		endpoint_url: endpoint(),
	})
	.check(compressible, ({ value, issues }) => {
		const { client_id, tenant_id } = value;
		const half = client_id ? "tenant_id" : "client_id";
		if (Boolean(client_id) === Boolean(tenant_id)) return;
		const message = "An application has a client_id and a tenant_id.";
		issues.push({ ...issue(value[half], "invalid_input", message), path: [half] });
	});

export type Settings = z.output<typeof config>;

const serviceOf = (account_name: string, endpoint_url?: string | null) =>
	new URL(endpoint_url ?? `https://${account_name}.blob.core.windows.net`);

export function containerUrl({ container_name, account_name, endpoint_url }: Settings) {
	const url = serviceOf(account_name, endpoint_url);
	url.pathname = `${url.pathname.replace(/\/$/, "")}/${container_name}`;
	return url;
}

export const azure = defineBucket({
	title: "Azure Blob Storage",
	config,
	place: "container_name",
	secrets: ["account_key", "sas_token"],
	oneOf: ["account_key", "sas_token"],
	role: {
		settings: ["client_id", "tenant_id"],
		replaces: ["account_key", "sas_token"],
		excludes: ["endpoint_url"],
	},
	server: ({ account_name = "", endpoint_url }) => serviceOf(account_name, endpoint_url).origin,
	test: ["reach", "sign in", "write", "remove"],
	url: containerUrl,
});
