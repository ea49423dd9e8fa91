import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { pythonWith, STANDARD_WEBHOOKS } from "../../test/support/python.ts";
import { seeded } from "../../test/support/random.ts";
import { startEndpoints, WAYS } from "./endpoints.ts";

const python = await pythonWith([STANDARD_WEBHOOKS]).catch(() => null);

const missing = python ? "" : " (skipped: the Python library can't be installed)";

test.skipIf(!python)(
	`an endpoint notices a message that isn't signed by its secret${missing}`,
	async () => {
		const { url, endpoints, verified } = await startEndpoints(python ?? "", {
			count: WAYS.length,
			chance: 0,
			random: seeded(1),
		});
		const [first] = endpoints;
		if (first) first.secret = `whsec_${btoa("a secret of thirty-two bytes....")}`;
		const headers = {
			"webhook-id": "a",
			"webhook-timestamp": String(Math.floor(Date.now() / 1000)),
			"webhook-signature": "v1,AAAA",
		};
		const response = await fetch(`${url}/0`, { method: "POST", headers, body: "{}" });
		expect(response.status).toBe(204);
		expect(await verified()).toBe(1);
		expect(first?.refusals).toEqual(["WebhookVerificationError: No matching signature found"]);
	},
);

test.skipIf(!python)(
	`events reach four endpoints, of which three fail now and then, although the server is killed${missing}`,
	async () => {
		const { stdout } = await promisify(execFile)(
			process.execPath,
			["judges/fire/webhooks.ts", "--events", "12", "--endpoints", "4", "--kills", "1"],
			{ cwd: `${import.meta.dirname}/../..` },
		);
		expect(stdout).toContain("The server was killed 1 times");
		expect(stdout).toMatch(/Python verified \d{2,} signatures/);
	},
);
