import type { Pages } from "./types.ts";

type AnyPage = { next: string | null; results: unknown[] };

/**
 * Returns a list, which sends no request before it is awaited or iterated. The first page is
 * cached.
 * @param read requests the page with this query string; without one, the first page
 */
export function pagesOf<First extends AnyPage>(
	read: (query?: string) => Promise<First>,
): Pages<unknown, First> {
	let first: Promise<First> | undefined;
	async function* pages() {
		first ??= read();
		let page = await first;
		yield page;
		while (page.next !== null) {
			page = await read(new URL(page.next).search);
			yield page;
		}
	}
	return {
		// biome-ignore lint/suspicious/noThenProperty: `await` returns the first page
		then(resolve, reject) {
			first ??= read();
			return first.then(resolve, reject);
		},
		pages,
		async *[Symbol.asyncIterator]() {
			for await (const { results } of pages()) yield* results;
		},
	};
}
