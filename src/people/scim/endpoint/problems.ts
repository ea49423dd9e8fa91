import type { Context } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { App } from "../../../env.ts";
import { ScimError, type ScimType } from "../errors.ts";

/*
 * The parts of a request that can't be carried out (docs/sign-on.md#what-cant-be-taken). It never
 * keeps somebody's access from ending.
 */

/** The effect of a request on the access of people. */
export type Effect = "ends" | "keeps" | "gives";

/** The requests that a problem rejects. All others are carried out without what has the problem. */
const REJECTED = {
	/** An attribute that decides nothing, or that the service doesn't have. */
	shown: [],
	/** The value of an attribute that decides something. */
	value: ["gives"],
	/** An operation that isn't valid, or a name that is taken. */
	request: ["gives", "keeps"],
} satisfies Record<string, Effect[]>;

export type Problem = {
	rejects: keyof typeof REJECTED;
	/** Begins with the name of the attribute, or the path of the operation. */
	detail: string;
	status?: ContentfulStatusCode;
	scim_type?: ScimType;
};

declare module "hono" {
	interface ContextVariableMap {
		/** The parts of the request that weren't carried out, and why, for the request log. */
		ignored?: string[];
	}
}

const toError = ({ status = 400, scim_type = "invalidValue", detail }: Problem) =>
	new ScimError(status, scim_type, detail);

/** Throws the first problem that rejects a request with this effect. The log names the others. */
export function settle(c: Context<App>, effect: Effect, problems: Problem[]) {
	const rejecting = problems.find(({ rejects }) => {
		const effects: Effect[] = REJECTED[rejects];
		return effects.includes(effect);
	});
	if (rejecting) throw toError(rejecting);
	c.set(
		"ignored",
		problems.map(({ detail }) => detail),
	);
}
