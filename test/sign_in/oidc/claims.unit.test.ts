import { describe, expect, test } from "vitest";
import { merge, toVerified } from "../../../src/sign_in/oidc/claims.ts";

const verified = (connection: string, domain_id: string | null) => (claims: object) =>
	toVerified(
		{ connection, domain_id, organization_id: 1, issuer: "", client_id: "", client_secret: "" },
		{ sub: "1", email: "ada@gmail.com", ...claims },
	);

const ofDomain = verified("oidc:1", "1");
const ofGoogle = verified("google-oauth2", null);
const ofGitLab = verified("gitlab", null);

const isVerified = (claims: object) =>
	[ofDomain, ofGoogle, ofGitLab].map((of) => of(claims).is_email_verified);

/** Values of other types, and texts that only look like the value. */
const OTHERS = [null, false, "false", "0", 0, 1, "1", "TRUE", "yes", "", [], [true], {}];

describe("email_verified", () => {
	test.each([true, "true"])("%j is a yes", (email_verified) => {
		expect(isVerified({ email_verified })).toEqual([true, true, true]);
	});

	test.each(OTHERS)("%j is a no", (email_verified) => {
		expect(isVerified({ email_verified })).toEqual([false, false, false]);
	});

	test("may be missing only at the provider of a domain", () => {
		expect(isVerified({})).toEqual([true, false, false]);
	});

	test.each([...OTHERS, true, "true"])(
		"%j of userinfo and of the ID token only count together",
		(one) => {
			const isYes = one === true || one === "true";
			for (const other of [true, "true"]) {
				const { email, ...said } = { email: "ada@gmail.com", email_verified: other };
				const [a, b] = [{ email_verified: one }, { email, ...said }];
				expect(ofDomain(merge(a, b)).is_email_verified).toBe(isYes);
				expect(ofDomain(merge(said, { ...b, email_verified: one })).is_email_verified).toBe(isYes);
			}
			expect(ofDomain(merge({ email_verified: one }, {})).is_email_verified).toBe(isYes);
			expect(ofDomain(merge({}, { email_verified: one })).is_email_verified).toBe(isYes);
		},
	);
});

test.each([null, 5, [], {}, true, ""])("hd %j isn't the absence of a hosted domain", (hd) => {
	expect(ofGoogle({ email_verified: true, hd }).is_email_verified).toBe(false);
});

test.each([null, "mfa", { mfa: true }, ["pwd"], ["mfa", 5], [["mfa"]]])(
	"amr %j is no second factor",
	(amr) => {
		expect(ofDomain({ amr }).has_factor).toBe(false);
	},
);

test.each([null, 5, [], {}])("the name %j ends nothing", (name) => {
	expect(ofDomain({ given_name: name, family_name: name })).toMatchObject({
		first_name: "",
		last_name: "",
	});
});

test.each([null, 5, ["1"], "", "s".repeat(256)])("%j isn't a subject", (sub) => {
	expect(() => ofDomain({ sub })).toThrow("The subject is missing or too long.");
});

test.each([null, 5, ["ada@gmail.com"], "", "ada"])("%j isn't an address", (email) => {
	expect(() => ofDomain({ email })).toThrow("The provider reported no email address");
});
