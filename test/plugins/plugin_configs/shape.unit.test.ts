import { expect, test } from "vitest";
import { parseUnrounded } from "../../../src/lib/lossless_json.ts";
import { job, update } from "../../../src/plugins/plugin_configs/shape.ts";

test.each([
	"9007199254740993",
	"-12345678901234567890",
	"3.14159265358979323846",
	"1e400",
	"1e-400",
	`1.${"0".repeat(400)}`,
])("a config or payload with the number %s, which a double would change, is rejected", (number) => {
	const config = `{"url": "9007199254740993", "ids": [${number}]}`;
	const { error } = update.safeParse({ config });
	expect(error?.issues).toMatchObject([{ path: ["config", "ids"] }]);
	const body = parseUnrounded(`{"job": {"type": "x", "payload": {"id": ${number}}}}`);
	expect(job.safeParse(body).error?.issues).toMatchObject([{ path: ["job", "payload", "id"] }]);
});

test("a config keeps the value of all other numbers", () => {
	const numbers =
		"9007199254740992, 1.0, 100e-2, 1E22, 0.10, -0.0, 0.30000000000000004, 1.7976931348623157e308, 5e-324";
	const { data } = update.safeParse({ config: `{"n": [${numbers}]}` });
	const n = [2 ** 53, 1, 1, 1e22, 0.1, -0, 0.1 + 0.2, Number.MAX_VALUE, Number.MIN_VALUE];
	expect(data?.config).toEqual({ n });
});
