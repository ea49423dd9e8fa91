import type * as z from "zod";
import { toApiError } from "../../src/http/valid.ts";

/** Returns the error of a request with this body; undefined if the body is valid. */
export async function problemOf(shape: z.ZodType, body: unknown) {
	const { error } = await shape.safeParseAsync(body, { reportInput: true });
	const [issue] = error?.issues ?? [];
	if (!issue) return undefined;
	const { code, detail, attr } = toApiError(issue).body;
	return { code, detail, attr };
}
