/**
 * The status with which a test server responds if its program can't be installed on this machine.
 */
export const NOT_INSTALLED = 424;

/**
 * Returns the end of the names of tests that are skipped, because the program of their server can't
 * be installed; "" if the server runs.
 * @throws if the program is installed, but doesn't start
 */
export async function missing(name: string, url: string, init?: RequestInit) {
	const response = await fetch(url, init).catch((error: unknown) => {
		throw new Error(`${name} is installed, but didn't start.`, { cause: error });
	});
	const text = await response.text();
	if (response.status === NOT_INSTALLED) return ` (skipped: ${text})`;
	if (!response.ok) throw new Error(`${name} is installed, but responds with ${text}`);
	return "";
}
