import * as z from "zod";
import { name, set, text, timestamp } from "../../http/fields.ts";
import { MAX_NAME_CHARACTERS } from "../clients/app_name.ts";
import { isRedirectUri, MAX_REDIRECT_URIS, MAX_URI_CHARACTERS } from "../clients/redirect_uris.ts";

/** docs/oauth.md#registered-apps */
export const OauthClient = z
	.object({
		id: z.guid(),
		name: z.string(),
		redirect_uris: z.array(z.string()),
		created_at: timestamp(),
	})
	.meta({ id: "OauthClient" });

const redirectUri = text(MAX_URI_CHARACTERS).refine(isRedirectUri, {
	error:
		"Enter an https URL, a URL of the person's computer such as http://127.0.0.1/callback, or one with the app's own scheme such as com.example.notes. It can't have a fragment or a user name.",
});

export const create = z.object({
	name: name(MAX_NAME_CHARACTERS),
	redirect_uris: set(redirectUri, MAX_REDIRECT_URIS).min(1),
});
export const update = create.partial();
