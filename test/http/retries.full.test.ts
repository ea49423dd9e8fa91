import { expect, test } from "vitest";
import { address } from "../support/routes.ts";
import { furnished } from "../support/world.ts";
import { changing, post, rejected, rowsOf, testRetries } from "./retries.ts";

testRetries(changing);

test.each(rejected)(
	"POST $path, which is rejected, leaves its Idempotency-Key free",
	async ({ path, body }) => {
		const home = await furnished();
		for (let i = 0; i < 2; i++) {
			const response = await post(
				home,
				address(path, home),
				"a key",
				body ? { body: body(home) } : {},
			);
			expect([response.status, response.headers.has("idempotency-replayed")]).toEqual([400, false]);
			expect(await rowsOf(home)).toEqual([]);
		}
	},
);
