import { customType } from "drizzle-orm/sqlite-core";
import { fromBase64url, toBase64url } from "../../lib/bytes.ts";
import { cutBytes } from "../../lib/text.ts";

/** The kinds of keys that requests are made with, by how they are stored. */
const KINDS = { k: "api_key", s: "session", a: "app", t: "scim_token" } as const;

export const KEY_KINDS = Object.values(KINDS);

/** The key that a request was made with. */
export type UsedKey = {
	id: string;
	kind: (typeof KEY_KINDS)[number];
	/** Its label at that time, possibly cut; null for a session. */
	label: string | null;
};

/** Where a request came from. What is unknown, or isn't stored, is null. */
type RequestOrigin = {
	address: string | null;
	/** An ISO 3166-1 code of two letters, or a special one of Cloudflare's, such as `T1` for Tor. */
	country: string | null;
	/** The client, such as `Firefox 140, Linux`, possibly cut. */
	user_agent: string | null;
	request_id: string | null;
};

/** With which key, and from where, an entry of the activity log was caused. */
export type Origin = {
	/** null: without a key, such as a sign-in. */
	key: UsedKey | null;
	/** null: the reader may not see it. */
	request: RequestOrigin | null;
};

/** The limit in bytes. With two bytes in its row's header, an entry has at most 120 bytes more. */
const MAX_BYTES = 118;

/** The longest IPv6 address as text (RFC 4291, section 2.2). */
const MAX_ADDRESS = 45;

/** The longest id of a request that is kept: its caller may send one. */
const MAX_ID = 36;

const MAX_LABEL_BYTES = 24;

const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/;

/** Stores a UUID in 22 characters, and another text after a dot. */
const packId = (id: string) =>
	UUID.test(id)
		? toBase64url(Uint8Array.fromHex(id.replaceAll("-", "")))
		: `.${id.slice(0, MAX_ID)}`;

function unpackId(text: string) {
	if (text.startsWith(".")) return text.slice(1);
	const hex = fromBase64url(text).toHex();
	return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/** Removes what separates the fields. */
const clean = (text: string | null | undefined) => (text ?? "").replace(/\p{Cc}/gu, " ").trim();

/**
 * Writes an origin as text: seven fields, separated by tabs. The address is the first, so that SQL
 * can compare it or leave it out (`startsWith`, `withoutAddress`). The label and the client get the
 * room that is left.
 */
export function pack({ key, request }: Origin) {
	const fixed = [
		clean(request?.address).slice(0, MAX_ADDRESS),
		clean(request?.country).slice(0, 2),
		Object.entries(KINDS).find(([, kind]) => kind === key?.kind)?.[0] ?? "",
		key ? packId(key.id) : "",
		request?.request_id ? packId(clean(request.request_id)) : "",
	].join("\t");
	const room = MAX_BYTES - Buffer.byteLength(fixed) - 2;
	const label = cutBytes(clean(key?.label), Math.min(MAX_LABEL_BYTES, Math.floor(room / 2)));
	const agent = cutBytes(clean(request?.user_agent), room - Buffer.byteLength(label));
	return [fixed, label, agent].join("\t");
}

/** The opposite of `pack`. */
export function unpack(text: string): Origin {
	const [address, country, kind, id, request_id, label, user_agent] = text.split("\t");
	const known = Object.entries(KINDS).find(([letter]) => letter === kind)?.[1];
	return {
		key: known && id ? { id: unpackId(id), kind: known, label: label || null } : null,
		request: {
			address: address || null,
			country: country || null,
			user_agent: user_agent || null,
			request_id: request_id ? unpackId(request_id) : null,
		},
	};
}

/** A column for an `Origin`. */
export const origin = customType<{ data: Origin; driverData: string }>({
	dataType: () => "text",
	toDriver: pack,
	fromDriver: unpack,
});
