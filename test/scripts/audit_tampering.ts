/** Somebody who changes signed audit files, in ways that a seed chooses. */
import { rmSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { verify } from "../../scripts/audit.ts";
import { genesis, link } from "../../src/activity/audit_streams/chain.ts";
import {
	fileName,
	folder,
	madeAt,
	newSigner,
	OTHER_STREAM,
	type Signer,
	STREAM,
	save,
	signedFiles,
} from "./audit_files.ts";

/** A small generator of pseudo-random numbers (mulberry32). */
export function randomFrom(seed: number) {
	let state = seed;
	const next = () => {
		state = (state + 0x6d2b79f5) | 0;
		let t = Math.imul(state ^ (state >>> 15), 1 | state);
		t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
		return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
	};
	const below = (n: number) => Math.floor(next() * n);
	return { below, pick: <T>(list: readonly T[]): T => list[below(list.length)] as T };
}

type Random = ReturnType<typeof randomFrom>;

const ORGANIZATION = "01a202f6-0000-74a0-a20a-0a7928f4ab66";
const OTHER_ORGANIZATION = "01a202f6-0000-74a0-a20a-0a7928f4ab67";

/** When the old key stopped signing: after the entries of the first two files. */
const ENDED = madeAt(2) / 1000 + 60;

/** The keys: an old one, the current one, and somebody else's. */
export const keys = {
	old: newSigner({ exp: ENDED }),
	current: newSigner({ nbf: 0 }),
	foreign: newSigner(),
};

const withoutEnd = (line: string) => {
	const { previous: _, digest: __, ...entry } = JSON.parse(line);
	return entry;
};

/** Links all lines anew, as somebody would who wants to hide a change. */
function relinked(files: string[][], stream = STREAM) {
	let digest = genesis(stream);
	return files.map((lines) =>
		lines.map((line) => {
			const linked = link(withoutEnd(line), digest);
			({ digest } = linked);
			return linked.line;
		}),
	);
}

/** Links all lines anew, and signs each file with a key. */
function resigned(files: string[][], signer: Signer, iatOf: (claims: { iat: number }) => number) {
	let digest = genesis(STREAM);
	return files.map((lines) =>
		lines.map((line) => {
			const entry = withoutEnd(line);
			if (entry.signature) {
				const claims = JSON.parse(
					Buffer.from(entry.signature.split(".")[1], "base64url").toString(),
				);
				entry.signature = signer.sign({ ...claims, iat: iatOf(claims), head: digest });
			}
			const linked = link(entry, digest);
			({ digest } = linked);
			return linked.line;
		}),
	);
}

const changeEntry = (random: Random, files: string[][]) => {
	const lines = random.pick(files);
	const at = 1 + random.below(lines.length - 2);
	lines[at] = String(lines[at]).replace("project.updated", "project.created");
};

type Tampered = {
	files: string[][];
	/** The bytes of a file, if they aren't those of its lines. */
	raw?: { file: number; bytes: Uint8Array };
	/** The names of the files, if they are others. */
	names?: string[];
	witness?: string;
	/** What is said about it. */
	expected: RegExp;
};

type Given = { files: string[][]; heads: string[] };

/** The kinds of tampering, each with what is said about it. */
export const TAMPERINGS: Record<string, (random: Random, given: Given) => Tampered> = {
	"a changed byte of a line": (random, { files }) => {
		const lines = random.pick(files);
		const at = random.below(lines.length);
		const line = String(lines[at]);
		const i = random.below(line.length - 1);
		const other = String.fromCharCode((line.charCodeAt(i) % 94) + 33);
		lines[at] = line.slice(0, i) + other + line.slice(i + 1);
		return { files, expected: /was changed|isn't the first line|isn't a|says|follow/ };
	},
	"a changed byte of a compressed file": (random, { files }) => {
		const file = random.below(files.length);
		const bytes = gzipSync(files[file]?.join("") ?? "");
		// Behind the ten bytes of the header, some of which mean nothing.
		const i = 10 + random.below(bytes.length - 10);
		bytes[i] = Number(bytes[i]) ^ (1 << random.below(8));
		return { files, raw: { file, bytes }, expected: /can't be read|was changed|first line|says/ };
	},
	"a changed entry, with new digests": (random, { files }) => {
		changeEntry(random, files);
		return { files: relinked(files), expected: /signature of the file is of other entries/ };
	},
	"a removed entry": (random, { files }) => {
		const lines = random.pick(files);
		lines.splice(1 + random.below(lines.length - 2), 1);
		return { files, expected: /doesn't follow the previous line/ };
	},
	"a removed entry, with new digests and numbers": (random, { files }) => {
		const file = random.pick(files);
		file.splice(1 + random.below(file.length - 2), 1);
		let number = 0;
		const renumbered = files.map((lines) => {
			const count = lines.length - 2;
			const first = number + 1;
			return lines.map((line, i) => {
				const entry = withoutEnd(line);
				if (i > 0 && i <= count) number += 1;
				if (i === 0) return JSON.stringify({ ...entry, first, last: first + count - 1, count });
				return JSON.stringify(entry.signature ? entry : { ...entry, number });
			});
		});
		return { files: relinked(renumbered), expected: /signature of the file has another/ };
	},
	"a removed file": (random, { files }) => {
		files[random.below(files.length - 1)] = [];
		return { files, expected: /is missing before this one/ };
	},
	"exchanged files": (random, { files }) => {
		const a = random.below(files.length);
		const b = (a + 1 + random.below(files.length - 1)) % files.length;
		const names = files.map((_, i) => fileName(i));
		[names[a], names[b]] = [String(names[b]), String(names[a])];
		return { files, names, expected: /The name has the number/ };
	},
	"exchanged contents, with new digests": (random, { files }) => {
		const a = random.below(files.length - 1);
		const b = a + 1;
		const [one = [], two = []] = [files[a], files[b]];
		files[a] = [String(one[0]), ...two.slice(1, -1), String(one.at(-1))];
		files[b] = [String(two[0]), ...one.slice(1, -1), String(two.at(-1))];
		return { files: relinked(files), expected: /signature of the file is of other entries/ };
	},
	"missing files at the end, of which a webhook knows": (random, { files, heads }) => {
		const kept = 1 + random.below(files.length - 1);
		const witness = JSON.stringify({ data: { trigger: { signature: heads.at(-1) } } });
		return { files: files.slice(0, kept), witness, expected: /is missing at the end/ };
	},
	"a file without its last lines": (random, { files }) => {
		const lines = files.at(-1) ?? [];
		lines.splice(lines.length - 1 - random.below(lines.length - 1));
		return { files, expected: /isn't signed/ };
	},
	"a removed signature, with new digests": (random, { files }) => {
		random.pick(files).pop();
		return { files: relinked(files), expected: /isn't signed/ };
	},
	"the signature of another file": (random, { files }) => {
		const a = random.below(files.length);
		const b = (a + 1 + random.below(files.length - 1)) % files.length;
		files[a]?.splice(-1, 1, String(files[b]?.at(-1)));
		return { files: relinked(files), expected: /signature of the file is of file \d/ };
	},
	"a changed byte of a signature, with new digests": (random, { files }) => {
		const lines = random.pick(files);
		const { signature } = JSON.parse(String(lines.at(-1)));
		const [header, claims, bytes = ""] = signature.split(".");
		// The last character has bits that mean nothing.
		const i = random.below(bytes.length - 1);
		const other = bytes[i] === "A" ? "B" : "A";
		const changed = `${header}.${claims}.${bytes.slice(0, i)}${other}${bytes.slice(i + 1)}`;
		lines.splice(-1, 1, JSON.stringify({ signature: changed, previous: "", digest: "" }));
		return { files: relinked(files), expected: /signature of the file is wrong/ };
	},
	"a key of somebody else": (random, { files }) => {
		changeEntry(random, files);
		const forged = resigned(files, keys.foreign, ({ iat }) => iat);
		return { files: forged, expected: /isn't among the public keys/ };
	},
	"an old key": (random, { files }) => {
		changeEntry(random, files);
		const forged = resigned(files, keys.old, ({ iat }) => iat);
		return { files: forged, expected: /its key is old/ };
	},
	"an old key, with an old time": (random, { files }) => {
		changeEntry(random, files);
		const forged = resigned(files, keys.old, ({ iat }) => Math.min(iat, ENDED));
		return { files: forged, expected: /before the last entry/ };
	},
	"the service's own key, where somebody has the real head": (random, { files, heads }) => {
		changeEntry(random, files);
		const forged = resigned(files, keys.current, ({ iat }) => iat);
		return { files: forged, witness: heads.join("\n"), expected: /has signed two heads of file/ };
	},
	"a file of another organization": (random, { files }) => {
		const signer = keys.current;
		const others = signedFiles(
			files.map(({ length }) => length - 2),
			{ signer, organization: OTHER_ORGANIZATION },
		);
		const i = random.below(files.length);
		files[i] = others.files[i] ?? [];
		return { files, expected: /is of the organization .*67/ };
	},
	"a file of another stream": (random, { files }) => {
		const signer = keys.current;
		const counts = files.map(({ length }) => length - 2);
		const others = signedFiles(counts, { signer, stream: OTHER_STREAM });
		const i = random.below(files.length);
		files[i] = others.files[i] ?? [];
		return { files, expected: /is in the folder of stream .*66/ };
	},
};

/** Saves files that nobody changed, or that somebody has: the kind is one of `TAMPERINGS`. */
function tampered(seed: number, kind?: string) {
	const random = randomFrom(seed);
	const counts = Array.from({ length: 3 + random.below(4) }, () => 2 + random.below(6));
	const given = signedFiles(counts, { signer: keys.current, organization: ORGANIZATION });
	const make = kind === undefined ? undefined : TAMPERINGS[kind];
	const { files, raw, names, witness, expected } = make
		? make(random, given)
		: { ...given, raw: undefined, names: undefined, expected: /^$/, witness: given.heads.join() };
	for (const [i, lines] of files.entries())
		if (lines.length > 0)
			save(
				`${STREAM}/${names?.[i] ?? fileName(i)}`,
				raw?.file === i ? raw.bytes : gzipSync(lines.join("")),
			);
	save("jwks.json", JSON.stringify({ keys: [keys.old.jwk, keys.current.jwk] }));
	if (witness) save("witness.txt", witness);
	return { expected, hasWitness: witness !== undefined, organization: ORGANIZATION };
}

/** What is found in files that somebody has changed; without a kind, in files that nobody has. */
export async function found(seed: number, kind?: string) {
	rmSync(folder, { recursive: true });
	const { expected, hasWitness, organization } = tampered(seed, kind);
	const { ok, problems } = await verify(folder, {
		jwks: `${folder}/jwks.json`,
		organization,
		...(hasWitness && { witness: [`${folder}/witness.txt`] }),
	});
	const told = problems.map(({ problem }) => problem).join("\n");
	return { ok, told: told && expected.test(told) ? "named" : told };
}
