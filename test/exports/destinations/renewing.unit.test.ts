import { beforeEach, describe, expect, test, vi } from "vitest";
import { type Credentials, renewing } from "../../../src/exports/destinations/roles/exchange.ts";

const HOUR_MS = 3_600_000;

/** Returns an issuer of numbered credentials, whose responses wait for `answer`. */
function issuer({ lifetimeMs = HOUR_MS } = {}) {
	const waiting: PromiseWithResolvers<Credentials<string>>[] = [];
	const issue = () => {
		const response = Promise.withResolvers<Credentials<string>>();
		waiting.push(response);
		return response.promise;
	};
	const answer = (i: number) =>
		waiting[i]?.resolve({
			value: `token ${i}`,
			expires_at: Date.now() + lifetimeMs,
			secrets: [`secret ${i}`],
		});
	return { issue, answer, waiting };
}

beforeEach(() => {
	vi.useFakeTimers({ now: 0, toFake: ["Date"] });
});

describe("credentials that are renewed", () => {
	test("are issued once for all who ask at the same time", async () => {
		const { issue, answer, waiting } = issuer();
		const tokens = renewing(issue);
		const asked = [tokens.get(), tokens.get(), tokens.get()];
		answer(0);
		expect(await Promise.all(asked)).toEqual(["token 0", "token 0", "token 0"]);
		expect(await tokens.get()).toBe("token 0");
		expect(waiting).toHaveLength(1);
	});

	test("are replaced before they expire, or when they are forgotten, and stay secret", async () => {
		const { issue, answer, waiting } = issuer();
		const tokens = renewing(issue);
		const first = tokens.get();
		answer(0);
		await first;
		vi.setSystemTime(HOUR_MS - 60_000);
		const second = tokens.get();
		answer(1);
		expect(await second).toBe("token 1");
		expect(tokens.secrets()).toEqual(["secret 1", "secret 0"]);
		tokens.forget();
		expect(tokens.secrets()).toEqual(["secret 1", "secret 0"]);
		const third = tokens.get();
		answer(2);
		expect(await third).toBe("token 2");
		expect(waiting).toHaveLength(3);
	});

	test("are asked for again after a failure", async () => {
		const { issue, answer, waiting } = issuer();
		const tokens = renewing(issue);
		const asked = [tokens.get(), tokens.get()];
		waiting[0]?.reject(new Error("The issuer is down."));
		for (const each of asked) await expect(each).rejects.toThrow("The issuer is down.");
		const again = tokens.get();
		answer(1);
		expect(await again).toBe("token 1");
	});

	test("keep the secrets of the last ten", async () => {
		const { issue, answer } = issuer({ lifetimeMs: 0 });
		const tokens = renewing(issue);
		for (let i = 0; i < 12; i += 1) {
			const asked = tokens.get();
			answer(i);
			await asked;
		}
		expect(tokens.secrets()).toHaveLength(10);
		expect(tokens.secrets()[0]).toBe("secret 11");
	});
});
