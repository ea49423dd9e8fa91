import { beforeEach, expect, test, vi } from "vitest";
import { stopClock } from "../../support/time.ts";
import { world } from "../../support/world.ts";
import { ask, complete, enforce, rejected, tokenIn, verify } from "./support.ts";

const MINUTE = 60_000;

beforeEach(() => stopClock());

test("strangers can't prevent signing in: the user always has a link that works, or gets one", async () => {
	const { owner: user, id } = await world();
	await verify(user);
	await enforce({ id });
	let sent = 0;
	let token = "";
	for (let minute = 0; minute < 120; minute += 5) {
		// A stranger asks before the user does.
		for (let i = 0; i < 8; i++) {
			const { mails } = await ask(user.email);
			sent += mails.length;
			token = tokenIn(mails.at(-1)?.text) || token;
		}
		// It isn't used up: signing in is rejected only because a second factor must be set up.
		expect(await complete({ token })).toMatchObject(rejected("two_factor_setup_required", "code"));
		vi.setSystemTime(Date.now() + 5 * MINUTE);
	}
	expect(sent).toBeLessThanOrEqual(2 * 8);
});
