import type { Context } from "hono";
import type * as z from "zod";
import type { App } from "../../env.ts";
import { findSignIn } from "./find.ts";
import { chooseRevoked } from "./login_session.ts";
import type { SignInPreview } from "./shape.ts";

/** Returns whom a link signs in, and what that means. Throws the errors of `findSignIn`. */
export async function preview(
	c: Context<App>,
	token: string,
): Promise<z.infer<typeof SignInPreview>> {
	const signIn = await findSignIn(c, token);
	return {
		email: signIn.user.email,
		organization_name: signIn.link.organization_name,
		loses_keys: chooseRevoked(signIn).length > 0,
	};
}
