import { test } from "vitest";
import { exportHistories } from "./modelled.ts";

test("every moment before the schedule is exported once by arrival, or the log says how", async () => {
	await exportHistories(150);
});
