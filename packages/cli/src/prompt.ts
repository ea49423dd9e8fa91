/** Asks questions in the terminal, on stderr, so that stdout has only results. */
import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { EXIT } from "./failure.ts";

/** Whether the program runs in a terminal, so that someone can respond. */
export const canAsk = () => process.stdin.isTTY && process.stderr.isTTY;

/** Asks a question and returns the trimmed response. Ctrl-C ends the program. */
export async function ask(question: string, { isSecret = false } = {}) {
	let isMuted = false;
	const output = new Writable({
		write(chunk, encoding, done) {
			if (!isMuted) process.stderr.write(chunk, encoding);
			done();
		},
	});
	const lines = createInterface({ input: process.stdin, output, terminal: true });
	const interrupted = () => {
		process.stderr.write("\n");
		process.exit(EXIT.interrupted);
	};
	lines.once("SIGINT", interrupted);
	lines.once("close", () => {
		if (!isAnswered) interrupted();
	});
	let isAnswered = false;
	const answer = lines.question(question);
	isMuted = isSecret;
	const text = await answer;
	isAnswered = true;
	lines.close();
	if (isSecret) process.stderr.write("\n");
	return text.trim();
}

/** Asks for confirmation. The default is no. */
export async function confirm(question: string) {
	return /^y(es)?$/i.test(await ask(`${question} [y/N] `));
}
