/** How long a server may be silent in the middle of its answer. */
const SILENCE_TIMEOUT_MS = 60_000;

/**
 * The rows of an answer in the format JSONCompactEachRow, as they arrive. A reader that stops early ends the answer.
 * @throws where the answer is cut off, or ends in a message of the server
 */
export async function* parseRows(
	stream: ReadableStream<Uint8Array>,
): AsyncGenerator<unknown[]> {
	const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
	let rest = "";
	try {
		for (;;) {
			const { done, value } = await readInTime(reader);
			if (done) break;
			const lines = (rest + value).split("\n");
			rest = lines.pop() ?? "";
			for (const [i, line] of lines.entries()) {
				if (!line.startsWith("["))
					throw new Error([...lines.slice(i), rest].join(" ").trim());
				yield JSON.parse(line);
			}
		}
		if (rest !== "") throw new Error("The answer was cut off.");
	} finally {
		await reader.cancel().catch(() => {});
	}
}

async function readInTime(reader: ReadableStreamDefaultReader<string>) {
	let timer: ReturnType<typeof setTimeout> | undefined;
	const silence = new Promise<never>((_, reject) => {
		timer = setTimeout(
			() => reject(new Error("The server stopped in its answer.")),
			SILENCE_TIMEOUT_MS,
		);
	});
	try {
		return await Promise.race([reader.read(), silence]);
	} finally {
		clearTimeout(timer);
	}
}
