/** How an isolate adds up values of requests, and writes the sums later. */
type Options<V> = {
	/** The maximum number of sums. At this number, they are written immediately, and none is added. */
	max: number;
	/** How long a sum waits at most while requests come, in milliseconds. */
	maxAgeMs: number;
	/** Returns the sum of two values, the second of which is newer. */
	merge: (before: V, value: V) => V;
	/** If it fails, the sums stay for the next write. */
	write: (env: Env, sums: V[]) => Promise<unknown>;
	onError: (error: unknown) => void;
};

/**
 * Sums of an isolate by name, which it writes together when no more requests come, or when one is
 * `maxAgeMs` old. So no request waits for the write.
 */
export class Sums<V> {
	readonly #options: Options<V>;
	/** The sums that haven't been written yet. */
	readonly #sums = new Map<string, V>();
	/** When the last timer started, and when the first sum was added, in ms since 1970. */
	#startedAt = 0;
	#addedAt = 0;

	constructor(options: Options<V>) {
		this.#options = options;
	}

	add(name: string, value: V) {
		const before = this.#sums.get(name);
		if (!before && this.#sums.size >= this.#options.max) return;
		if (this.#sums.size === 0) this.#addedAt = Date.now();
		this.#sums.set(name, before ? this.#options.merge(before, value) : value);
	}

	async #flush(env: Env) {
		const written = [...this.#sums];
		this.#sums.clear();
		if (written.length === 0) return;
		const { write, onError } = this.#options;
		try {
			await write(
				env,
				written.map(([, sum]) => sum),
			);
		} catch (error) {
			onError(error);
			for (const [name, sum] of written) this.add(name, sum);
		}
	}

	/** Waits, then writes the sums, or leaves them to a later timer. */
	async #flushLater(env: Env, delay: number) {
		const mine = this.#startedAt;
		await scheduler.wait(delay);
		const isOld = Date.now() - this.#addedAt >= this.#options.maxAgeMs;
		if (this.#startedAt === mine || isOld) await this.#flush(env);
	}

	/** Writes the sums in `delay` milliseconds, after the response. */
	writeLater(
		{ env, executionCtx }: { env: Env; executionCtx: Pick<ExecutionContext, "waitUntil"> },
		delay: number,
	) {
		if (this.#sums.size >= this.#options.max) executionCtx.waitUntil(this.#flush(env));
		// The platform ends a timer 30 seconds after its response. So there is a new one before the
		// last one ends, but not for each request.
		else if (Math.abs(Date.now() - this.#startedAt) >= delay / 2) {
			this.#startedAt = Date.now();
			executionCtx.waitUntil(this.#flushLater(env, delay));
		}
	}
}
