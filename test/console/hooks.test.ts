import { buildSync } from "esbuild";
import type { Page } from "playwright-core";
import { describe, expect, inject, test } from "vitest";
import { withBrowser } from "../support/browser.ts";

const root = `${import.meta.dirname}/../..`;

const NOW = Date.UTC(2026, 2, 10, 12);

withBrowser("the console's hooks", (newPage) => {
	const [script] = buildSync({
		entryPoints: [`${root}/packages/console/test/hooks.tsx`],
		bundle: true,
		format: "esm",
		jsx: "automatic",
		jsxImportSource: "preact",
		alias: { "tenantry-client": `${root}/packages/client/src/index.ts` },
		write: false,
	}).outputFiles;

	/** Opens the page of a hook. Its clock stands still if `isStopped`. */
	async function open(
		hook: string,
		{ isStopped = true, prepare = async (_: Page): Promise<unknown> => undefined } = {},
	) {
		const page = await newPage({ locale: "en-US" });
		const { url } = inject("console");
		await page.route(`${url}/hooks*`, (route) =>
			route.fulfill({
				contentType: "text/html",
				body: '<!doctype html><body><script type="module" src="/hooks.js"></script>',
			}),
		);
		await page.route(`${url}/hooks.js`, (route) =>
			route.fulfill({ contentType: "text/javascript", body: script?.text ?? "" }),
		);
		await prepare(page);
		if (isStopped) {
			await page.clock.install({ time: NOW - 1000 });
			await page.clock.pauseAt(NOW);
		}
		await page.goto(`${url}/hooks?hook=${hook}`);
		await page.locator("output").waitFor({ state: "attached" });
		return page;
	}

	const shown = async (page: Page) => JSON.parse(await page.locator("output").innerText());

	describe("useLoad", () => {
		/** Ends a load, and waits until the page has drawn the result, if there is one. */
		const end = (page: Page, load: number, result: { data: string } | { error: string }) =>
			page.evaluate(`new Promise((resolve) => {
				${
					"data" in result
						? `loads[${load}].resolve(${JSON.stringify(result.data)})`
						: `loads[${load}].reject(new Error(${JSON.stringify(result.error)}))`
				};
				requestAnimationFrame(() => requestAnimationFrame(resolve));
			})`);

		const started = (page: Page, count: number) =>
			expect.poll(() => page.evaluate("loads.length")).toBe(count);

		const LOADING = { isLoading: true };

		test("ignores what a load returns after its inputs have changed", async () => {
			for (const late of [{ data: "late" }, { error: "late" }]) {
				const page = await open("load", { isStopped: false });
				await started(page, 1);
				await page.evaluate("setInput('second')");
				await started(page, 2);
				await end(page, 0, late);
				expect(await shown(page)).toEqual(LOADING);
				await end(page, 1, { data: "new" });
				expect(await shown(page)).toEqual({ data: "new", isLoading: false });

				await page.evaluate("setInput('third')");
				await started(page, 3);
				await page.evaluate("setInput('fourth')");
				await started(page, 4);
				await end(page, 3, { data: "newest" });
				await end(page, 2, late);
				expect(await shown(page)).toEqual({ data: "newest", isLoading: false });
			}
		});

		test("keeps the data while it loads again, and shows an error of that load", async () => {
			const page = await open("load", { isStopped: false });
			await started(page, 1);
			await end(page, 0, { data: "old" });
			await page.evaluate("reload()");
			await started(page, 2);
			expect(await shown(page)).toEqual({ data: "old", isLoading: true });
			// A refresh doesn't load again what is being loaded.
			await page.evaluate("refresh()");
			await end(page, 1, { error: "gone" });
			expect(await shown(page)).toEqual({ error: "gone", isLoading: false });
			expect(await page.evaluate("loads.length")).toBe(2);
		});
	});

	describe("usePolling", () => {
		const polls = (page: Page) => page.evaluate("polls");

		/**
		 * Changes whether the tab is visible, as a browser does when another tab is opened or closed.
		 */
		const see = (page: Page, visibility: "visible" | "hidden") =>
			page.evaluate(`{
				Object.defineProperty(document, "visibilityState", { value: "${visibility}", configurable: true });
				document.dispatchEvent(new Event("visibilitychange"));
			}`);

		test("calls at its interval while the tab is visible, and at once when it becomes visible", async () => {
			const page = await open("poll");
			// Effects run after a frame.
			await page.clock.runFor(100);
			expect(await polls(page)).toEqual([]);
			await page.clock.runFor(999);
			expect(await polls(page)).toEqual(["first"]);
			await page.clock.runFor(2000);
			expect(await polls(page)).toHaveLength(3);
			await see(page, "hidden");
			await page.clock.runFor(10_000);
			expect(await polls(page)).toHaveLength(3);
			await see(page, "visible");
			expect(await polls(page)).toHaveLength(4);
			await page.clock.runFor(1000);
			expect(await polls(page)).toHaveLength(5);
		});

		test("calls the newest function, and keeps its interval", async () => {
			const page = await open("poll");
			await page.clock.runFor(100);
			await page.evaluate("change({ name: 'second' })");
			await page.clock.runFor(950);
			expect(await polls(page)).toEqual(["second"]);
		});

		test("ends when it is switched off, and when the page is left", async () => {
			for (const change of ["{ isOn: false }", "{ isShown: false }"]) {
				const page = await open("poll");
				await page.clock.runFor(1100);
				expect(await polls(page)).toHaveLength(1);
				await page.evaluate(`change(${change})`);
				await page.clock.runFor(5000);
				await see(page, "hidden");
				await see(page, "visible");
				expect(await polls(page)).toHaveLength(1);
			}
		});
	});

	describe("useLog", () => {
		const at = (seconds: number) => new Date(NOW + seconds * 1000).toISOString();
		const entry = (message: string, seconds: number) => ({
			id: message,
			timestamp: at(seconds),
			source: "CONSOLE",
			type: "LOG",
			message,
		});

		/**
		 * Follows a log whose requests get these entries in turn, then none. Returns what was asked.
		 */
		async function following(answers: ReturnType<typeof entry>[][]) {
			const asked: (string | null)[] = [];
			const page = await open("log", {
				prepare: (page) =>
					page.route("**/plugin_configs/7/logs*", (route) => {
						const results = answers[asked.length] ?? [];
						asked.push(new URL(route.request().url()).searchParams.get("after"));
						const count = results.length;
						return route.fulfill({ json: { count, next: null, previous: null, results } });
					}),
			});
			/** Lets time pass until there were so many requests. */
			const until = (count: number) =>
				expect
					.poll(async () => {
						await page.clock.runFor(500);
						return asked.length;
					})
					.toBeGreaterThanOrEqual(count);
			return { page, asked, until };
		}

		test("asks for entries since half a minute before the newest one, because a job's appear when it ends", async () => {
			const { page, asked, until } = await following([
				[entry("b", -100)],
				[entry("late", -120), entry("b", -100)],
				[entry("c", -50), entry("b", -100)],
			]);
			await until(4);
			await expect
				.poll(() => shown(page))
				.toEqual({ messages: ["late", "b", "c"], hasOlder: false });
			expect(asked.slice(0, 4)).toEqual([null, at(-130), at(-130), at(-80)]);
		});

		test("asks for all entries while there is none", async () => {
			const { page, asked, until } = await following([[], [], [entry("a", -3600)]]);
			await until(4);
			await expect.poll(() => shown(page)).toEqual({ messages: ["a"], hasOlder: false });
			expect(asked.slice(0, 4)).toEqual([null, null, null, at(-3630)]);
		});
	});
});
