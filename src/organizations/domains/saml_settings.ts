import { invalid } from "../../http/errors.ts";
import { linkTo } from "../../outbound/mail.ts";

/** Fields with what the provider calls itself, which are easy to confuse with ours. */
const THEIRS = ["saml_entity_id", "saml_acs_url"] as const;

type Body = { saml_metadata?: string | null | undefined } & {
	[K in (typeof THEIRS)[number]]?: string | null | undefined;
};

/**
 * Returns a body with the fields that the metadata in it has, instead of the metadata. Fields that
 * the body has, too, stay.
 * @throws 400 if the metadata can't be fetched or read, or if it is ours
 */
export async function withSaml<T extends Body>(env: Env, { saml_metadata, ...body }: T) {
	for (const attr of THEIRS)
		if (env.APP_URL && body[attr]?.startsWith(linkTo(env.APP_URL, "/sso/saml/")))
			throw invalid(attr, "This is a value of this service. Enter that of the provider.");
	if (!saml_metadata) return body;
	const { readMetadata } = await import("./metadata_reader.ts");
	return { ...(await readMetadata(env, saml_metadata)), ...body };
}
