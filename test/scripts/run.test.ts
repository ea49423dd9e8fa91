import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { signalGroup } from "../../scripts/run.ts";

test("a signal ends a process group, and later ones do nothing", async () => {
	const child = spawn("sleep", ["60"], { detached: true });
	signalGroup(child, "SIGKILL");
	expect(await once(child, "exit")).toEqual([null, "SIGKILL"]);
	signalGroup(child, "SIGKILL");
	signalGroup(
		spawn("sleep", ["60"], { detached: true, cwd: "/nowhere" }).on("error", () => {}),
		"SIGINT",
	);
});
