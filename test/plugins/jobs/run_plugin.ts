import { env } from "cloudflare:workers";
import { expect } from "vitest";
import { type Run, run } from "../../../src/plugins/jobs/sandbox.ts";
import { toScript } from "../../support/compiler.ts";

/** The source of a plugin with a job `go`. */
export const go = (body: string) =>
	`export const jobs = { go: async (payload, meta) => { ${body} } };`;

/** Runs the job `go` of a plugin with an empty storage, unless `options` say otherwise. */
export async function runPlugin(source: string, options: Partial<Run> = {}) {
	const stored = new Map<string, string>();
	const result = await run(env.LOADER, {
		isolate: null,
		script: await toScript(source),
		call: { kind: "job", type: "go", payload: {} },
		config: {},
		secrets: [],
		storage: {
			get: async (key) => stored.get(key) ?? null,
			set: async (key, json) => Boolean(stored.set(key, json)),
			del: async (key) => void stored.delete(key),
		},
		...options,
	});
	for (const entry of result.entries)
		expect(entry).toEqual({
			timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
			source: expect.stringMatching(/^(SYSTEM|PLUGIN|CONSOLE)$/),
			level: expect.stringMatching(/^(DEBUG|LOG|INFO|WARN|ERROR)$/),
			message: expect.any(String),
		});
	return {
		...result,
		stored,
		lines: result.entries.map(({ source, level, message }) => `${source} ${level} ${message}`),
	};
}
