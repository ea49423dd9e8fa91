import type { Pages } from "./types.ts";

type AnyPage = { next: string | null; results: unknown[] };

/**
 * A list. Nothing is requested before it is awaited or iterated; after that the first page is kept.
 * @param read gets the page with this query, by default the first
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
		// biome-ignore lint/suspicious/noThenProperty: `await` gives the first page
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
