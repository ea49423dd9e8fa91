import type { Context } from "hono";
import type * as z from "zod";
import type { App } from "../../env.ts";
import { findSignIn } from "./find.ts";
import type { SignInPreview } from "./shape.ts";

/**
 * Returns who a link signs in. Reads only.
 * @throws the errors of `findSignIn`
 */
export async function preview(
	c: Context<App>,
	token: string,
): Promise<z.infer<typeof SignInPreview>> {
	const { user, link } = await findSignIn(c, token);
	return { email: user.email, organization_name: link.organization_name };
}
