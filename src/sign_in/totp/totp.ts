import { createHmac } from "node:crypto";

const ISSUER = "Tenantry";

/** How long a code is shown, in seconds (RFC 6238, section 5.2). */
const PERIOD = 30;

/** Creates a secret of 160 random bits, in base32 (RFC 4226, section 4). */
export async function newSecret() {
	const { Secret } = await import("otpauth/bare");
	return new Secret({ size: 20 }).base32;
}

async function generatorOf(secret: string, label: string) {
	const { TOTP } = await import("otpauth/bare");
	return new TOTP({
		issuer: ISSUER,
		label,
		secret,
		algorithm: "SHA1",
		digits: 6,
		period: PERIOD,
		hmac: (_, key, message) => createHmac("sha1", key).update(message).digest(),
	});
}

/** Returns the URL from which authenticator apps read the secret, usually as a QR code. */
export async function otpauthUrl(secret: string, label: string) {
	return (await generatorOf(secret, label)).toString();
}

/** Returns the time step of a code at `at` (ms), a step more or less; undefined if it is wrong. */
export async function stepOf(secret: string, code: string, at: number) {
	const generator = await generatorOf(secret, "");
	const drift = generator.validate({ token: code, timestamp: at, window: 1 });
	return drift === null ? undefined : Math.floor(at / 1000 / PERIOD) + drift;
}
