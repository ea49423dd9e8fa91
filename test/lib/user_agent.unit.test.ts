import { expect, test } from "vitest";
import { clientOf } from "../../src/lib/user_agent.ts";

test.each([
	[
		"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36",
		"Chrome 131, Linux",
	],
	[
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36 Edg/131.0.2903.70",
		"Edge 131, Windows",
	],
	[
		"Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1",
		"Safari 18, iPhone",
	],
	[
		"Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/131.0.6778.73 Mobile/15E148 Safari/604.1",
		"Chrome 131, iPhone",
	],
	[
		"Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Mobile Safari/537.36 EdgA/131.0.0.0",
		"Edge 131, Android",
	],
	["Mozilla/5.0 (compatible; Uptime/1.0)", "(compatible; Uptime/1.0)"],
	["Terraform/1.9", "Terraform/1.9"],
	["", ""],
])("%s is shown as %s", (header, shown) => {
	expect(clientOf(header)).toBe(shown);
});
