import { useEffect, useRef, useState } from "preact/hooks";
import type { BatchExportTrial } from "tenantry-client";
import { typeOf, wordsOfType } from "./destinations.ts";

const WORDS: Record<string, string> = {
	reach: "Reach the server",
	"sign in": "Sign in",
	remove: "Delete the test data",
};

const wordsOf = (step: string, type: string) =>
	step === "write"
		? `Write a test ${typeOf(type)?.kind === "files" ? "file" : "row"}`
		: (WORDS[step] ?? step);

type State = { type: string; result: BatchExportTrial | undefined };

function Steps({ type, result }: State) {
	const done = result?.steps ?? [];
	const names = [
		...done.map(({ name }) => name),
		...(typeOf(type)?.test ?? []).filter((name) => !done.some((step) => step.name === name)),
	];
	return (
		<ol class="export-steps">
			{names.map((name) => {
				const step = done.find((one) => one.name === name);
				const mood = !step ? "quiet" : step.error === null ? "good" : "bad";
				const words = !step ? (result ? "Not run" : "…") : step.error === null ? "OK" : "Failed";
				return (
					<li key={name} class={`export-step ${mood}`}>
						<span class="export-step-mark" aria-hidden="true">
							{{ quiet: "○", good: "✓", bad: "×" }[mood]}
						</span>
						<span>
							<strong>{wordsOf(name, type)}</strong> <span class="soft">{words}</span>
							{step?.error && <span class="export-step-error">{step.error}</span>}
							{step?.warning && <span class="export-step-warning">{step.warning}</span>}
						</span>
					</li>
				);
			})}
		</ol>
	);
}

/** Tests a destination. `run` starts the test, `panel` shows the steps. */
export function useTrial() {
	const [state, setState] = useState<State>();
	async function run(type: string, test: () => Promise<BatchExportTrial>) {
		setState({ type, result: undefined });
		try {
			setState({ type, result: await test() });
		} catch (error) {
			setState(undefined);
			throw error;
		}
	}
	const { type = "", result } = state ?? {};
	const shown = useRef<HTMLElement>(null);
	useEffect(() => shown.current?.scrollIntoView({ block: "nearest" }), [state]);
	const words = wordsOfType(type);
	const panel = state && (
		<section ref={shown} class="panel trial" role="status" aria-label="Test of the destination">
			<h3>
				{result === undefined
					? `Testing ${words}…`
					: result.success
						? "The test succeeded"
						: "The test failed"}
			</h3>
			<Steps type={type} result={result} />
			{result?.success && <p class="soft">The test left no data behind.</p>}
		</section>
	);
	return { run, panel, clear: () => setState(undefined) };
}
