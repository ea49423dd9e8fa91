import { expect, test } from "vitest";
import { explain } from "../../scripts/output.ts";

test.each([
	[
		'✘ [ERROR] {"request_id":"r-1","error":"TypeError: x is not a function\\n    at worker.js:1:2"}',
		"Error in request r-1: TypeError: x is not a function",
	],
	[
		'✘ [ERROR] {"warning":"A mail was not sent","error":"Error: no sender"}',
		"Warning: A mail was not sent: no sender",
	],
	[
		'✘ [ERROR] {"part":"old exports","error":"Error: D1 is down"}',
		"Error in the part old exports: D1 is down",
	],
	[
		'✘ [ERROR] {"audit_stream":"s-1","warning":"A file was not delivered","error":"Error: D1 is down"}',
		"Warning in audit stream s-1: A file was not delivered: D1 is down",
	],
	[
		"✘ [ERROR] e = rust/worker/ffi.rs:110: failed: Name or service not known",
		"Error: Name or service not known",
	],
	["✘ [ERROR] Build failed with 1 error:", "Error: Build failed with 1 error:"],
	["    src/app.ts:1:2:", "    src/app.ts:1:2:"],
	["    at null.<anonymous> (worker.js:41755:7)", undefined],
	["  stack: /workerd@34dcea9 /workerd@26b6840", undefined],
])("%s is shown as %s", (line, text) => {
	expect(explain(line)).toBe(text);
});
