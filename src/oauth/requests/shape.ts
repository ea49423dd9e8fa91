import * as z from "zod";
import { scopes } from "../../access/scopes.ts";
import { futureMoment, integer, rawText, set, text, uuid } from "../../http/fields.ts";
import { documentAs } from "../../http/router.ts";

/** A request of an app (RFC 6749, section 4.1.1; RFC 7636, section 4.3; RFC 8707, section 2). */
export const request = z.object({
	response_type: z.literal("code"),
	client_id: rawText(2_000).min(1),
	redirect_uri: rawText(2_000).min(1),
	code_challenge: z.string().regex(/^[\w-]{43}$/),
	/** `plain` would be no protection against programs that read the request. */
	code_challenge_method: z.literal("S256"),
	scope: rawText(2_000).optional(),
	state: rawText(2_000).optional(),
	resource: rawText(2_000).optional(),
});

export type Request = z.infer<typeof request>;

/** A request that may be wrong. Without these two fields, nobody knows to whom to say so. */
export const previewed = z.object({
	client_id: request.shape.client_id,
	redirect_uri: request.shape.redirect_uri,
	response_type: rawText().optional(),
	code_challenge: rawText().optional(),
	code_challenge_method: rawText().optional(),
	scope: rawText().optional(),
	state: rawText().optional(),
	resource: rawText().optional(),
});

export type Previewed = z.infer<typeof previewed>;

/** A request of a device (RFC 8628, section 3.1). */
export const deviceRequest = request.pick({ client_id: true, scope: true, resource: true });

/** What the person allows, which is at most what the app asks for. */
const choice = z.object({
	scopes: set(text().pipe(z.enum(scopes)), 100).min(1),
	scoped_organizations: set(uuid(), 100).optional(),
	scoped_projects: set(integer(), 100).optional(),
	ends_at: futureMoment().nullable().optional(),
});

export type Choice = z.infer<typeof choice>;

export const approval = request.extend(choice.shape);

/** The code that a device shows, in any form in which people write it. */
export const userCode = z.object({ user_code: rawText(100).min(1) });

export const deviceApproval = userCode.extend(choice.shape);

/** What an app on a device asks for (docs/oauth.md#devices). */
export const DeviceRequest = z
	.object({
		client_id: z.string(),
		client_name: z.string(),
		client_host: z.string().nullable(),
		client_organization: z.string().nullable(),
		audience: z.string(),
		scopes: z.array(documentAs(z.string(), z.enum(scopes))),
	})
	.meta({ id: "DeviceRequest" });

/** What an app asks for (docs/oauth.md#what-the-person-sees). */
export const AppRequest = DeviceRequest.extend({
	redirect_host: z.string().nullable(),
	error: z.string().nullable(),
	cancel_url: z.string(),
}).meta({ id: "AppRequest" });

/** Where the browser goes after the person has decided. */
export const AppResponse = z.object({ redirect_url: z.string() }).meta({ id: "AppResponse" });
