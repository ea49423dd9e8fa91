import { expect, test } from "vitest";
import { runLog } from "../../../src/plugins/jobs/run_log.ts";

const line = (message: unknown) => ({ source: "PLUGIN", level: "INFO", message });

test("only what the guest code can write is an entry", () => {
	const log = runLog([]);
	for (const lines of [null, "forged", { length: 1, 0: line("forged") }]) log.receive(lines);
	log.receive([
		{ ...line("forged"), source: "SYSTEM" },
		{ ...line("forged"), level: "FATAL" },
		line({ forged: 1 }),
		line(undefined),
		null,
		"forged",
		["forged"],
		line("honest"),
	]);
	const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
	expect(log.close("It failed.")).toEqual({
		entries: [
			{ timestamp, source: "PLUGIN", level: "INFO", message: "honest" },
			{ timestamp, source: "SYSTEM", level: "ERROR", message: "It failed." },
		],
		error: "It failed.",
	});
});

test.each([
	[1000, []],
	[1001, ["The run wrote more than 1000 entries; the others were dropped."]],
])("of %i entries, the first thousand are kept", (n, notice) => {
	const log = runLog([]);
	for (let i = 0; i < n; i += 400)
		log.receive(Array.from({ length: Math.min(400, n - i) }, (_, j) => line(`${i + j}`)));
	const { entries } = log.close(null);
	const kept = Array.from({ length: 1000 }, (_, i) => `${i}`);
	expect(entries.map(({ message }) => message)).toEqual([...kept, ...notice]);
});

test("secrets appear in no entry and no error, not even in part where an entry is cut", () => {
	const log = runLog(["hunter22", 'quo"te\n5', "abc", "hunter22extended"]);
	const messages = [
		`hunter22 ${JSON.stringify({ b: 'quo"te\n5' })} abc`,
		`${"x".repeat(3995)}hunter22`,
		"hunter22".repeat(3000),
		`x${"hunter22".repeat(3000)}`,
	];
	// The guest code cuts entries.
	log.receive(messages.map((message) => line(message.slice(0, 4001))));
	const { entries, error } = log.close("Error: xhunter22hunter22extended");
	expect(entries.slice(0, 4).map(({ message }) => message)).toEqual([
		'*** {"b":"***"} abc',
		`${"x".repeat(3995)}…`,
		`${"***".repeat(500)}…`,
		`x${"***".repeat(500)}…`,
	]);
	expect(error).toBe("Error: x******");
	expect(entries.at(-1)?.message).toBe(error);
});
