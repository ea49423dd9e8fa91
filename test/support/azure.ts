import { env } from "cloudflare:workers";
import { expect } from "vitest";
import { sharedKey } from "../../src/exports/destinations/azure/shared_key.ts";
import { ACCOUNT } from "./azurite.ts";

export const CONTAINER = "exports";

/** Sends a request to Azurite, signed with the account's key. */
export async function ask(
	method: string,
	path: string,
	more: Record<string, string> = {},
	body = "",
) {
	const url = new URL(`${env.AZURE_URL}/${path}`);
	const headers = new Headers({
		"x-ms-date": new Date().toUTCString(),
		"x-ms-version": "2021-12-02",
		...(body && { "content-length": String(body.length) }),
		...more,
	});
	const { account_name: account, account_key: key } = ACCOUNT;
	headers.set("authorization", await sharedKey(method, url, headers, { account, key }));
	return fetch(url, {
		method,
		headers,
		...(method === "PUT" && { body: Buffer.from(body) }),
	});
}

/** Creates the container, if it doesn't exist. */
export async function createContainer() {
	const { status } = await ask("PUT", `${CONTAINER}?restype=container`);
	expect([201, 409]).toContain(status);
}

/** Returns the path of a blob in a URL. */
export const pathOf = (blob: string) =>
	`${CONTAINER}/${blob.split("/").map(encodeURIComponent).join("/")}`;

/** Returns the names of the blobs with the prefix, as escaped in XML. */
export async function list(prefix: string) {
	const response = await ask(
		"GET",
		`${CONTAINER}?restype=container&comp=list&prefix=${encodeURIComponent(prefix)}`,
	);
	return [...(await response.text()).matchAll(/<Name>(.+?)<\/Name>/g)].map(([, name]) =>
		String(name),
	);
}

export const read = async (blob: string) =>
	new Uint8Array(await (await ask("GET", pathOf(blob))).arrayBuffer());
