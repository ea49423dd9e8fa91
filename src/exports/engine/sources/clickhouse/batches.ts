import { within } from "../../../../lib/within.ts";
import type { Row } from "../../../query/rows.ts";

/** How long a server may be silent within its response. */
const SILENCE_TIMEOUT_MS = 60_000;

/**
 * Yields the rows of a response in the format JSONCompactEachRow, as they arrive. If the consumer
 * stops early, cancels the response.
 * @throws if the response is incomplete, or ends with an error of the server
 */
export async function* parseRows(stream: ReadableStream<Uint8Array>): AsyncGenerator<Row[]> {
	const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
	let rest = "";
	try {
		for (;;) {
			const { done, value } = await readInTime(reader);
			if (done) break;
			const lines = (rest + value).split("\n");
			rest = lines.pop() ?? "";
			const broken = lines.findIndex((line) => !line.startsWith("["));
			if (broken >= 0) throw new Error([...lines.slice(broken), rest].join(" ").trim());
			yield lines.map((line) => JSON.parse(line));
		}
		if (rest !== "") throw new Error("The response was cut off.");
	} finally {
		await reader.cancel().catch(() => {});
	}
}

const readInTime = (reader: ReadableStreamDefaultReader<string>) =>
	within(SILENCE_TIMEOUT_MS, new Error("The server stopped sending its response."), () =>
		reader.read(),
	);

/** The items of batches, one after another. */
export class Items<T> {
	readonly #batches: AsyncGenerator<T[], void>;
	#batch: T[] = [];
	#index = 0;

	constructor(batches: AsyncGenerator<T[], void>) {
		this.#batches = batches;
	}

	/** Returns the next item, without advancing; undefined if there are no more. */
	async peek(): Promise<T | undefined> {
		while (this.#index >= this.#batch.length) {
			const { done, value } = await this.#batches.next();
			if (done) return undefined;
			this.#batch = value;
			this.#index = 0;
		}
		return this.#batch[this.#index];
	}

	advance() {
		this.#index += 1;
	}

	close() {
		return this.#batches.return();
	}
}
