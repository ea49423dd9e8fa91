import { expect, test } from "vitest";
import { verify } from "../../scripts/audit.ts";
import { folder, newSigner, STREAM, save, saveAll, signedFiles, useFolder } from "./audit_files.ts";
import { found, TAMPERINGS } from "./audit_tampering.ts";

useFolder();

test.each(Object.keys(TAMPERINGS))("in signed files, %s is found and named", async (kind) => {
	expect(await found(1, kind)).toEqual({ ok: false, told: "named" });
});

test("signed files that nobody changed have no problem", async () => {
	for (const seed of [1, 2, 3]) expect(await found(seed)).toEqual({ ok: true, told: "" });
});

/** Saves signed files and the public key, and returns a function that checks them. */
function signed(entry: object = {}) {
	const signer = newSigner();
	const { files, heads } = signedFiles([3, 2, 1], { signer, entry });
	saveAll(files);
	save("jwks.json", JSON.stringify({ keys: [signer.jwk] }));
	const problems = async (options: object = {}) => {
		const { problems } = await verify(folder, { jwks: `${folder}/jwks.json`, ...options });
		return problems.map(({ problem }) => problem);
	};
	return { signer, files, heads, problems };
}

test("files from before signatures are accepted up to a number, and no others", async () => {
	const { files, problems } = signed();
	const { files: old } = signedFiles([3, 2, 1], { signer: newSigner() });
	files[0] = (old[0] ?? []).slice(0, -1);
	saveAll(files);
	expect(await problems()).toContain("The file isn't signed.");
	expect(await problems({ signedFrom: 2 })).not.toContain("The file isn't signed.");
	expect(await problems({ signedFrom: 1 })).toContain("The file isn't signed.");
});

test("a witness that isn't the service's, is for something else or has no head is reported", async () => {
	const { signer, heads, problems } = signed();
	const witness = [`${folder}/witness.txt`];
	const said = async (text: string) => {
		save("witness.txt", text);
		return problems({ witness });
	};
	expect(await said(`Stream ${heads[1]}, and ${heads[0]}`)).toEqual([]);
	expect(await said(newSigner().sign({ iat: 1 }))).toEqual([
		"A signature in the file is from a key that isn't among the public keys.",
	]);
	expect(await said(signer.sign({ iat: 1 }, "JWT"))).toEqual([
		"A signature in the file is for something else.",
	]);
	expect(await said(signer.sign({ iat: 1 }, "audit-head+jwt", { crit: ["x"], x: 1 }))).toEqual([
		"A signature in the file is wrong.",
	]);
	expect(await said("nothing")).toEqual(["The file has no signed heads."]);
	const other = signedFiles([1], { signer, stream: STREAM.replace(/.$/, "0") });
	expect(await said(String(other.heads))).toEqual([
		`There are no files of stream ${STREAM.replace(/.$/, "0")}.`,
	]);
});

test("a text in an entry that looks like a signature is none, and the head of another stream counts", async () => {
	const { signer, problems } = signed({ name: newSigner().sign({ iat: 1 }) });
	expect(await problems()).toEqual([]);
	const { heads } = signedFiles([3, 2, 1, 1], { signer });
	const stream = STREAM.replace(/.$/, "0");
	const other = signedFiles([1], { signer, stream, entry: { signature_of: heads.at(-1) } });
	save("other.ndjson", String(other.files[0]?.join("")));
	expect(await problems()).toEqual([
		expect.stringMatching(/^File 4 of stream .* is missing at the end\. The service signed it at /),
	]);
});

test("an entry after a revocation contradicts its receipt, until the person has come back", async () => {
	const [user, key, organization_id] = [1, 2, 3].map(
		(n) => `01a202f6-0000-7000-8000-00000000000${n}`,
	);
	const actor = { uuid: user, key: { id: key } };
	const of = (more: object = {}) => signed({ actor, data: { organization_id }, ...more });
	const said = async ({ signer, problems }: ReturnType<typeof signed>, claims: object) => {
		const facts = { iat: 1, organization_id: null, ...claims };
		save("receipt.json", JSON.stringify({ receipt: signer.sign(facts, "revocation-receipt+jwt") }));
		return (await problems({ receipt: [`${folder}/receipt.json`] })).length;
	};
	const ofKey = { revoked: { type: "session", id: key, user: null } };
	const member = { revoked: { type: "member", id: key, user }, organization_id };
	// The entries have the positions 1 to 6.
	expect(await said(of(), { ...ofKey, position: 6 })).toBe(0);
	expect(await said(of(), { ...ofKey, position: 4 })).toBe(2);
	expect(await said(of(), { ...member, position: 4 })).toBe(2);
	expect(await said(of(), { ...member, organization_id: user, position: 4 })).toBe(0);
	expect(await said(of({ type: "invite.accepted" }), { ...member, position: 4 })).toBe(0);
	expect(await said(of({ type: "oauth_grant.revoked" }), { ...member, position: 4 })).toBe(0);
	expect(
		await said(of(), { revoked: { type: "session", id: user, user: null }, position: 0 }),
	).toBe(0);
});
