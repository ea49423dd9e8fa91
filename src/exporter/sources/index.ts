import type { Source } from "./source.ts";

export function sourceOf(_env: Env): Source {
	throw new Error("");
}
