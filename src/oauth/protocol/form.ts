import type { Context } from "hono";
import type { App } from "../../env.ts";
import { bytesOf } from "../../http/body.ts";
import { shorten } from "../../lib/text.ts";
import { OauthError } from "./errors.ts";

const FORM = /^application\/x-www-form-urlencoded\s*(?:;|$)/i;

/** The parameters of a request, each at most once (RFC 6749, section 3.2). */
export type Form = {
	/** Returns a parameter; undefined if it is missing or empty. */
	optional(name: string): string | undefined;
	/** Returns a parameter. Throws invalid_request if it is missing or empty. */
	required(name: string): string;
};

/** @throws OauthError if the body isn't a form, or a parameter is repeated */
export async function readForm(c: Context<App>): Promise<Form> {
	if (!FORM.test(c.req.header("content-type") ?? ""))
		throw new OauthError("invalid_request", "The body must be a form.");
	const values = new Map<string, string>();
	for (const [name, value] of new URLSearchParams(new TextDecoder().decode(await bytesOf(c)))) {
		if (values.has(name))
			throw new OauthError("invalid_request", `The parameter ${shorten(name, 100)} is repeated.`);
		values.set(name, value);
	}
	const optional = (name: string) => values.get(name) || undefined;
	return {
		optional,
		required(name) {
			const value = optional(name);
			if (value === undefined)
				throw new OauthError("invalid_request", `The parameter ${name} is missing.`);
			return value;
		},
	};
}
