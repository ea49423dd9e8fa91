import { invalid } from "../../http/errors.ts";
import { saml } from "../../isolates/saml/client.ts";
import { bytesIn } from "../../lib/bytes.ts";
import { logError } from "../../lib/log.ts";
import { reason } from "../../outbound/errors.ts";
import { allowsPrivate } from "../../outbound/reach.ts";
import { sender } from "../../outbound/send.ts";
import { create, MAX_METADATA_BYTES } from "./shape.ts";

const ATTR = "saml_metadata";

const TIMEOUT_MS = 10_000;

const TYPES = "application/samlmetadata+xml, application/xml, text/xml";

const Fields = create.pick({ saml_entity_id: true, saml_acs_url: true, saml_x509_cert: true });

async function fetchMetadata(env: Env, text: string) {
	const url = URL.parse(text);
	const protocols = allowsPrivate(env) ? ["https:", "http:"] : ["https:"];
	if (!url || !protocols.includes(url.protocol) || url.username || url.password)
		throw invalid(ATTR, "Enter the metadata as XML, or its https URL.");
	const request = new Request(url, { headers: { accept: TYPES } });
	const response = await sender(env, TIMEOUT_MS)
		.exchange(request, [])
		.catch((error: unknown) => {
			throw invalid(ATTR, reason(error));
		});
	if (response.status !== 200) throw invalid(ATTR, response.describe());
	if (response.isCut || bytesIn(response.text) > MAX_METADATA_BYTES)
		throw invalid(ATTR, `The metadata has more than ${MAX_METADATA_BYTES} bytes.`);
	return response.text;
}

/**
 * Reads the metadata of a SAML provider.
 * @param metadata XML, or its URL
 * @returns the fields of the domain
 * @throws 400 if it can't be fetched or read
 */
export async function readMetadata(env: Env, metadata: string) {
	const text = metadata.startsWith("<") ? metadata : await fetchMetadata(env, metadata);
	const read = await saml(env, (isolate) => isolate.provider(text.trim())).catch(
		(error: unknown) => {
			logError("saml", error);
			throw invalid(ATTR, "The metadata can't be read at the moment. Try again later.");
		},
	);
	if (read.rejected) throw invalid(ATTR, read.rejected.message);
	// It has the limits that each field has.
	const { data, error } = await Fields.safeParseAsync(read);
	if (error) throw invalid(ATTR, `${error.issues[0]?.path.join(".")}: ${error.issues[0]?.message}`);
	return data;
}
