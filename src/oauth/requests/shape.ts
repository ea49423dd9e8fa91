import * as z from "zod";
import { scopes } from "../../access/scopes.ts";
import { futureMoment, integer, rawText, set, text, uuid } from "../../http/fields.ts";
import { documentAs } from "../../http/router.ts";

const CLIENT_ID =
	"The URL of the document about the app, or the id that it got when it was registered.";

/** A request of an app (RFC 6749, section 4.1.1; RFC 7636, section 4.3; RFC 8707, section 2). */
export const request = z.object({
	response_type: z.literal("code").describe("Always `code`."),
	client_id: rawText(2_000).min(1).describe(CLIENT_ID),
	redirect_uri: rawText(2_000)
		.min(1)
		.describe(
			"Where the app continues. It must be one of the app's, except for the port of a program on your computer.",
		),
	code_challenge: z
		.string()
		.regex(/^[\w-]{43}$/)
		.describe("The SHA-256 of the app's secret for this request, in base64url (PKCE)."),
	/** `plain` would be no protection against programs that read the request. */
	code_challenge_method: z.literal("S256").describe("Always `S256`."),
	scope: rawText(2_000)
		.optional()
		.describe(
			"The scopes that the app asks for, separated by spaces. Without a known one, all `:read` scopes.",
		),
	state: rawText(2_000).optional().describe("A text that the app gets back."),
	resource: rawText(2_000)
		.optional()
		.describe(
			"The URL of the API or of the MCP server, which the tokens are for; by default the API.",
		),
});

export type Request = z.infer<typeof request>;

/** Returns a field with any text, since the preview says what is wrong with it. */
const unchecked = ({ description = "" }: z.ZodType) => rawText().optional().describe(description);

/** A request that may be wrong. Without these two fields, nobody knows to whom to say so. */
export const previewed = z.object({
	client_id: request.shape.client_id,
	redirect_uri: request.shape.redirect_uri,
	response_type: unchecked(request.shape.response_type),
	code_challenge: unchecked(request.shape.code_challenge),
	code_challenge_method: unchecked(request.shape.code_challenge_method),
	scope: unchecked(request.shape.scope),
	state: unchecked(request.shape.state),
	resource: unchecked(request.shape.resource),
});

export type Previewed = z.infer<typeof previewed>;

/** A request of a device (RFC 8628, section 3.1). */
export const deviceRequest = request.pick({ client_id: true, scope: true, resource: true });

/** The access that the person gives, at most the requested one. */
const choice = z.object({
	scopes: set(text().pipe(z.enum(scopes)), 100)
		.min(1)
		.describe("The permissions that the app gets, at most those in `scope`. At least one."),
	scoped_organizations: set(uuid(), 100)
		.optional()
		.describe(
			"The ids of the organizations that the app can access. An empty list, the default, means all of yours.",
		),
	scoped_projects: set(integer(), 100)
		.optional()
		.describe(
			"The integer ids of the projects that the app can access. An empty list, the default, means all that you can see.",
		),
	ends_at: futureMoment()
		.nullable()
		.optional()
		.describe(
			"When the access ends; null, the default, for when it isn't used for 30 days. A time in the past is a 400.",
		),
});

export type Choice = z.infer<typeof choice>;

export const approval = request.extend(choice.shape);

/** The code that a device shows, in any form in which people write it. */
export const userCode = z.object({
	user_code: rawText(100)
		.min(1)
		.describe("The code that the device shows. Case, spaces and hyphens don't matter."),
});

export const deviceApproval = userCode.extend(choice.shape);

/** The request of an app on a device (docs/oauth.md#devices). */
export const DeviceRequest = z
	.object({
		client_id: z.string().describe(CLIENT_ID),
		client_name: z.string().describe("What the app calls itself. Anyone can choose any name."),
		client_host: z
			.string()
			.nullable()
			.describe(
				"The host of the app's document, whose owner is responsible for the app; null for an app without a document.",
			),
		client_organization: z
			.string()
			.nullable()
			.describe(
				"The name of the organization that registered the app; null for others. If `client_host` is null too, the app has registered itself: nobody vouches for it.",
			),
		audience: z.string().describe("What the tokens are for: `api` or `mcp`."),
		scopes: z
			.array(documentAs(z.string(), z.enum(scopes)))
			.describe("The permissions that the app asks for."),
	})
	.meta({ id: "DeviceRequest" });

/** The request of an app (docs/oauth.md#what-the-person-sees). */
export const AppRequest = DeviceRequest.extend({
	redirect_host: z
		.string()
		.nullable()
		.describe("The host at which the app continues; null for a program on your computer."),
	error: z
		.string()
		.nullable()
		.describe(
			"What is wrong with the request: `invalid_request`, `unsupported_response_type` or `invalid_target`. The app gets it at `cancel_url`. null if the person can decide.",
		),
	cancel_url: z
		.string()
		.describe("Where the browser goes if the person doesn't allow the app, with the error."),
}).meta({ id: "AppRequest" });

/** Where the browser goes after the person has decided. */
export const AppResponse = z
	.object({
		redirect_url: z.string().describe("Where the browser goes, with the code for the app."),
	})
	.meta({ id: "AppResponse" });
