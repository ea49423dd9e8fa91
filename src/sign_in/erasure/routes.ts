import { body } from "../../access/input.ts";
import { noContent } from "../../http/router.ts";
import { find } from "../../people/users/queries.ts";
import users from "../../people/users/routes.ts";
import { ATTEMPTS, WRONG_CODE, WRONG_PASSKEY } from "../totp/shape.ts";
import { erase } from "./queries.ts";
import * as shape from "./shape.ts";

/** The routes of users that need what only `sign_in/` knows: their second factor. */
export default users.delete(
	"/:uuid",
	noContent({
		id: "deleteUser",
		summary: "Delete yourself",
		description: `Ends your keys, sessions, memberships and the access of apps at once, deletes your ways to sign in, and the invites to your address and from you. Your name and address disappear from the activity logs within minutes, which keep your \`uuid\`. What you have created stays, and so do service accounts. It can't be undone. Requires a session, or a key with the scope \`*\` and without restrictions, and a code, a recovery code or a passkey if you have a second factor. ${ATTEMPTS}`,
		errors: {
			only_owner: "You are the only owner of an organization, which the text names.",
			invalid_input: "The address isn't yours.",
			invalid_code: WRONG_CODE,
			invalid_passkey: WRONG_PASSKEY,
			two_factor_required: "You have a second factor, and the body has no proof.",
		},
	}),
	body(shape.erase, find),
	async (c) => {
		await erase(c.var.tenant, c.req.param("uuid"), c.req.valid("json"));
		return c.body(null, 204);
	},
);
