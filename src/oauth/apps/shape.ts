import * as z from "zod";
import { name, set, text, timestamp } from "../../http/fields.ts";
import {
	isRedirectUri,
	MAX_NAME_CHARACTERS,
	MAX_REDIRECT_URIS,
	MAX_URI_CHARACTERS,
} from "./metadata.ts";

const NAME = "What members see when the app asks for access, at most 40 characters.";

const REDIRECT_URIS =
	"Where the app may continue, 1 to 50: https URLs, URLs of the person's computer, whose port may differ in each request, or ones with the app's own scheme such as `com.example.notes:`, which no browser or system opens itself.";

/** docs/oauth.md#registered-apps */
export const OauthClient = z
	.object({
		id: z.guid().describe("Identifies the app, in paths too. Its `client_id`."),
		name: z.string().describe(NAME),
		redirect_uris: z.array(z.string()).describe(REDIRECT_URIS),
		created_at: timestamp().describe("When the app was registered."),
	})
	.meta({ id: "OauthClient" });

const redirectUri = text(MAX_URI_CHARACTERS).refine(isRedirectUri, {
	error:
		"Enter an https URL, a URL of the person's computer such as http://127.0.0.1/callback, or one with the app's own scheme such as com.example.notes. It can't have a fragment or a user name.",
});

export const create = z.object({
	name: name(MAX_NAME_CHARACTERS).describe(NAME),
	redirect_uris: set(redirectUri, MAX_REDIRECT_URIS).min(1).describe(REDIRECT_URIS),
});
export const update = create.partial();
