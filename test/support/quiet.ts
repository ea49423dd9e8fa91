/**
 * Hides messages of the runtime that tests cause on purpose, so that others are noticed. They are
 * counted. RUNTIME_LOG shows all messages.
 */
const EXPECTED = [
	// Connections that tests break, a name without an address, a self-signed certificate, and a
	// server without TLS.
	/^(uncaught exception; )?exception = .*\bdisconnected: /,
	/ stack = Error: Network connection lost\.\s*$/,
	/^Socket proxy disconnected abruptly; .* failed to lookup address information: /,
	/ TLS handshake failed: invalid peer certificate: /,
	/ TLS handshake failed: received corrupt message of type InvalidContentType/,
	// Isolates that tests end (test/support/loader.ts).
	/^uncaught exception; exception = .*\bIt ended\.\s/,
	// Errors that a workflow gets from its step, or an isolate from the function that it called.
	// Tests check them there.
	/^uncaught exception; source = Uncaught \(in promise\); stack = [\s\S]* at .*(\/exporter\/run\.ts|\/workflows\/binding\.worker\.js):/,
	/^uncaught exception; source = Uncaught \(in promise\); stack = [\s\S]* at .*(\/jobs\/(sandbox|storage_calls|outbound)|\/mcp\/gateway)\.ts:/,
	// `oidc-provider`, which is only for tests here.
	/^oidc-provider (WARNING|NOTICE): /,
	/^uncaught exception; .*( This plugin may not reach | Expected Outbound export )/,
];

/**
 * Shared by all copies of this module: vitest loads its configuration more than once in a process.
 */
const state: { hidden?: number } = Object(process).expectedMessages ?? {};
Object.assign(process, { expectedMessages: state });

function filter(stream: NodeJS.WriteStream) {
	const write = stream.write.bind(stream);
	stream.write = (chunk: string, ...rest: []) => {
		if (!EXPECTED.some((pattern) => pattern.test(chunk))) return write(chunk, ...rest);
		state.hidden = (state.hidden ?? 0) + 1;
		return true;
	};
}

export function quiet() {
	if (process.env.RUNTIME_LOG || state.hidden !== undefined) return;
	state.hidden = 0;
	filter(process.stdout);
	filter(process.stderr);
}

/** Returns a sentence with the number of hidden messages; "" if there are none. */
export const hiddenMessages = () =>
	state.hidden
		? `${state.hidden} expected messages of the runtime are not shown (RUNTIME_LOG=1 shows them).`
		: "";
