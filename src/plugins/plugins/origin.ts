import { eq } from "drizzle-orm";
import type { Tenant } from "../../access/tenant.ts";
import { rowId } from "../../db/client.ts";
import { plugins } from "../../db/schema/plugins.ts";
import { cipherOf } from "../../keys/secrets.ts";
import type { Row } from "./rows.ts";

/** The cipher of a plugin's token. It uses the unique URL: the id isn't known before the insert. */
const tokenCipher = (env: Env, organization_id: string | null, url: string | null) =>
	cipherOf(env, "plugins", JSON.stringify([organization_id, url]));

/** Encrypts the token of a plugin with this URL; null if there is no token. */
export const sealToken = async (
	env: Env,
	{ organization_id, url }: { organization_id: string | null; url: string | null },
	token: string,
) =>
	token === "" ? null : await tokenCipher(env, organization_id, url).seal("private_token", token);

/** Selects the plugin's encrypted token, which responses never contain. */
export const tokenOf = ({ db }: Tenant, id: string) =>
	db
		.select({ private_token: plugins.private_token })
		.from(plugins)
		.where(eq(plugins.id, rowId(id)));

/** Returns the URL that the plugin was installed from, with its token; null if there is none. */
export async function originOf(
	{ env }: Tenant,
	{ organization_id, url, plugin_type }: Pick<Row, "organization_id" | "url" | "plugin_type">,
	token: string | null | undefined,
) {
	if (!url || ["source", "local"].includes(plugin_type)) return null;
	if (!token) return url;
	const cipher = tokenCipher(env, organization_id, url);
	const private_token = await cipher.unseal("private_token", token);
	return `${url}?${new URLSearchParams({ private_token })}`;
}
