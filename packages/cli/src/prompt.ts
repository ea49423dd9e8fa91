/** Asks questions in the terminal, on stderr, so that stdout has only results. */
import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { streams } from "./context.ts";
import { InterruptedError } from "./failure.ts";

/** Whether the program runs in a terminal, so that someone can respond. */
export const canAsk = () => streams().stdin.isTTY === true && streams().stderr.isTTY === true;

/**
 * Asks a question and returns the trimmed response.
 * @throws {InterruptedError} on Ctrl-C
 */
export async function ask(question: string, { isSecret = false } = {}) {
	const { stdin, stderr } = streams();
	let isMuted = false;
	let isAnswered = false;
	const output = new Writable({
		write(chunk, _, done) {
			if (!isMuted) stderr.write(chunk);
			done();
		},
	});
	const lines = createInterface({ input: stdin, output, terminal: true });
	const interrupted = new Promise<never>((_, reject) => {
		const end = () => reject(new InterruptedError());
		lines.once("SIGINT", end).once("close", end);
	});
	const answer = lines.question(question);
	isMuted = isSecret;
	try {
		const text = await Promise.race([answer, interrupted]);
		isAnswered = true;
		return text.trim();
	} finally {
		if (isSecret || !isAnswered) stderr.write("\n");
		lines.close();
	}
}

/** Asks for confirmation. The default is no. */
export async function confirm(question: string) {
	return /^y(es)?$/i.test(await ask(`${question} [y/N] `));
}
