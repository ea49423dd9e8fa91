/** Creates the client of a command, and calls its methods. */
import { Tenantry } from "../../client/src/index.ts";
import { Transport } from "../../client/src/transport.ts";
import { account, loginWords } from "./config.ts";
import { UsageError } from "./failure.ts";
import { fetchWithToken } from "./tokens.ts";

/** Fewer attempts than the client's default, because a person is waiting. */
const MAX_ATTEMPTS = 3;

export const optionsFor = (url: string, key: string | undefined) => ({
	baseUrl: url,
	key,
	maxAttempts: MAX_ATTEMPTS,
	headers: { "user-agent": "tenantry-cli" },
});

const options = () => {
	const { url, key, tokens } = account();
	return { ...optionsFor(url, key), ...(tokens && { fetch: fetchWithToken(url) }) };
};

const withKey = () => {
	const all = options();
	if (all.key === undefined)
		throw new UsageError(
			`You aren't logged in to ${all.baseUrl}. Run ${loginWords()}, or set TENANTRY_KEY.`,
		);
	return all;
};

/** @throws {UsageError} if `needsKey` is true and there is no key */
export const client = (needsKey = true) => new Tenantry(needsKey ? withKey() : options());

export const transport = () => new Transport(withKey());

/** A list that the client returns. */
export type Pages = PromiseLike<{ results: unknown[]; count: number; next: string | null }> &
	AsyncIterable<unknown>;

const isPages = (value: unknown): value is Pages =>
	typeof value === "object" && value !== null && Symbol.asyncIterator in value;

/** Calls a method of the client by its name. */
function invoke(tenantry: Tenantry, resource: string, method: string, words: unknown[]): unknown {
	const calls: unknown = Reflect.get(tenantry, resource);
	const call: unknown = Object(calls)[method];
	if (typeof call !== "function") throw new Error(`The client has no ${resource}.${method}.`);
	return call(...words);
}

/** Calls a method that returns one value. */
export const call = async (
	tenantry: Tenantry,
	resource: string,
	method: string,
	words: unknown[],
): Promise<unknown> => await invoke(tenantry, resource, method, words);

export function list(tenantry: Tenantry, resource: string, method: string, parameters: unknown) {
	const pages = invoke(tenantry, resource, method, [parameters]);
	if (!isPages(pages)) throw new Error(`${resource}.${method} is not a list.`);
	return pages;
}
