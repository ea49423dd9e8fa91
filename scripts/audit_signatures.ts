/**
 * Checks what the service has signed: heads of audit files and receipts of revocations
 * (docs/audit.md#what-each-step-proves).
 */
import { readFileSync } from "node:fs";
import { compactVerify, decodeProtectedHeader, importJWK, type JWK } from "jose";
import * as z from "zod";

/** How far the times of the service's computers may differ, in seconds. */
const TOLERANCE_SECONDS = 300;

const FETCH_TIMEOUT_MS = 20_000;

const PublicKey = z.looseObject({
	kty: z.string(),
	kid: z.string(),
	nbf: z.int().optional(),
	exp: z.int().optional(),
});

const KeySet = z.object({ keys: z.array(PublicKey) });

export type KeySet = z.infer<typeof KeySet>;

/**
 * Reads the public keys of a service from a file or a URL.
 * @throws if there are none
 */
export async function readKeys(source: string): Promise<KeySet> {
	const text = /^https?:\/\//.test(source)
		? await (await fetch(source, { signal: AbortSignal.timeout(FETCH_TIMEOUT_MS) })).text()
		: readFileSync(source, "utf8");
	const read = async () => KeySet.parse(JSON.parse(text));
	return read().catch(() => {
		throw new Error(`${source} has no JWK Set.`);
	});
}

const digest = z.string().regex(/^[0-9a-f]{64}$/);
const facts = {
	stream: z.string(),
	organization: z.string(),
	sequence: z.int(),
	first: z.int(),
	last: z.int(),
	count: z.int(),
	missing: z.int(),
};

/** What a signed head says, besides its digest, and what the first line of a file says. */
export const Facts = z.object(facts);

const Head = z.object({ iat: z.number(), head: digest, ...facts });

export type Head = z.infer<typeof Head>;

export const Receipt = z.object({
	iat: z.number(),
	revoked: z.object({ type: z.string(), id: z.string(), user: z.string().nullable() }),
	organization_id: z.string().nullable(),
	position: z.int(),
});

export type Receipt = z.infer<typeof Receipt>;

const KINDS = {
	head: { typ: "audit-head+jwt", shape: Head },
	receipt: { typ: "revocation-receipt+jwt", shape: Receipt },
};

const time = (seconds: number) => new Date(seconds * 1000).toISOString();

/** Returns why a key can't have signed at this time; undefined if it can. */
function wrongTime({ nbf = 0, exp }: z.infer<typeof PublicKey>, iat: number) {
	if (iat < nbf - TOLERANCE_SECONDS)
		return `is of ${time(iat)}, but its key signs only since ${time(nbf)}`;
	if (exp !== undefined && iat > exp + TOLERANCE_SECONDS)
		return `is of ${time(iat)}, but its key is old: it signed until ${time(exp)}`;
	return undefined;
}

/** Claims, or why they aren't the service's, as the end of a sentence about the signature. */
export type Checked<T> = { claims: T; problem?: never } | { claims?: never; problem: string };

/** Checks a compact JWS (RFC 7515). */
async function check<T extends z.infer<(typeof KINDS)[keyof typeof KINDS]["shape"]>>(
	jws: string,
	{ keys }: KeySet,
	{ typ, shape }: { typ: string; shape: z.ZodType<T> },
): Promise<Checked<T>> {
	try {
		const header = decodeProtectedHeader(jws);
		const key = keys.find(({ kid }) => kid === header.kid);
		if (!key) return { problem: "is from a key that isn't among the public keys" };
		if (header.typ !== typ) return { problem: "is for something else" };
		const jwk: JWK = key;
		const verified = await compactVerify(jws, await importJWK(jwk, "EdDSA"), {
			algorithms: ["EdDSA"],
		});
		const claims = shape.parse(JSON.parse(new TextDecoder().decode(verified.payload)));
		const problem = wrongTime(key, claims.iat);
		return problem ? { problem } : { claims };
	} catch {
		return { problem: "is wrong" };
	}
}

export const checkHead = (jws: string, keys: KeySet) => check<Head>(jws, keys, KINDS.head);

export const checkReceipt = (jws: string, keys: KeySet) => check<Receipt>(jws, keys, KINDS.receipt);

/** Returns all that look like signatures in a text: of events, webhooks, receipts or mails. */
export const signaturesIn = (text: string) =>
	Array.from(text.matchAll(/\beyJ[\w-]+\.eyJ[\w-]+\.[\w-]{86}\b/g), ([jws]) => jws);

/** Returns why a signed head isn't that of a file; undefined if it is. */
export function mismatch(
	{ iat, head, ...signed }: Head,
	header: z.infer<typeof Facts>,
	last: { digest: string | null; at: number | null },
) {
	const other = Object.entries(Facts.parse(header)).find(
		([name, value]) => Object.entries(signed).find(([known]) => known === name)?.[1] !== value,
	)?.[0];
	if (other === "stream" || other === "organization") return `is of another ${other}`;
	if (other === "sequence") return `is of file ${signed.sequence}`;
	if (other) return `has another ${other} than the first line`;
	if (head !== last.digest) return "is of other entries";
	if (last.at !== null && iat + TOLERANCE_SECONDS < last.at / 1000)
		return `is of ${time(iat)}, before the last entry`;
	return undefined;
}

/** Whether a head was signed clearly before another one. */
export const isBefore = (iat: number, other: number) => iat + TOLERANCE_SECONDS < other;

/** Collects signed heads, by stream and file. */
export function witnesses() {
	const heads = new Map<string, Map<number, Head>>();
	return {
		/** Adds a head. Returns another one of the same file that the service has signed, if any. */
		add(head: Head) {
			const ofStream = heads.get(head.stream) ?? new Map<number, Head>();
			heads.set(head.stream, ofStream);
			const known = ofStream.get(head.sequence);
			if (known) return known.head === head.head ? undefined : known;
			ofStream.set(head.sequence, head);
			return undefined;
		},
		streams: () => [...heads.keys()],
		of: (stream: string) => [...(heads.get(stream)?.values() ?? [])],
	};
}

/** Events about a person's own account, not the organization: these also follow a revocation. */
const OWN_ACCOUNT =
	/^(?:oauth_grant|session|identity|user|personal_api_key|passkey|two_factor|sign_in)\./;

const Entry = z.object({
	id: z.string(),
	type: z.string(),
	actor: z.object({
		uuid: z.string().nullable(),
		key: z.object({ id: z.string() }).nullish(),
	}),
	data: z.object({ organization_id: z.string().nullable() }),
});

/**
 * Returns a function that says whether an entry contradicts a receipt: it was made later by what was
 * revoked. A person who has come back may do everything again.
 */
export function contradicts({ revoked, organization_id, position }: Receipt) {
	let isBack = false;
	return (entry: unknown) => {
		const { data } = Entry.safeParse(entry);
		if (!data || isBack || Number.parseInt(data.id.slice(-12), 16) <= position) return false;
		if (revoked.user === null) return data.actor.key?.id === revoked.id;
		if (data.actor.uuid !== revoked.user || data.data.organization_id !== organization_id)
			return false;
		isBack = data.type === "invite.accepted" || data.type === "member.created";
		return !isBack && !OWN_ACCOUNT.test(data.type);
	};
}
