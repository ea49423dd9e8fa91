import * as z from "zod";
import { rawText, text } from "../../../http/fields.ts";
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
		account_key: rawText(255)
			.min(1)
			.pipe(z.base64("An account key must be in Base64."))
			.meta({ maxLength: 255 })
			.nullish()
			.describe("The account's key; either this or `sas_token` is required."),
		sas_token: rawText(4096)
			.min(1)
			.regex(/^[\w.~%!$&'()*+,;=:@/?-]+$/, NOT_A_TOKEN)
			.refine((token) => /(?:^\??|&)sig=./.test(token), NOT_A_TOKEN)
			.nullish()
			.describe("A shared access signature: the part of its URL after the question mark."),
		endpoint_url: endpoint(),
	})
	.check(compressible);

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
	server: ({ account_name = "", endpoint_url }) => serviceOf(account_name, endpoint_url).origin,
	test: ["reach", "sign in", "write", "remove"],
	url: containerUrl,
});
