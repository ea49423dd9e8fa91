import type { Page } from "playwright-core";

/** Adds an authenticator to the browser, whose user is always there and verified. */
export async function addAuthenticator(page: Page) {
	const session = await page.context().newCDPSession(page);
	await session.send("WebAuthn.enable");
	const { authenticatorId } = await session.send("WebAuthn.addVirtualAuthenticator", {
		options: {
			protocol: "ctap2",
			transport: "internal",
			hasResidentKey: true,
			hasUserVerification: true,
			isUserVerified: true,
			automaticPresenceSimulation: true,
		},
	});
	const setVerified = (isUserVerified: boolean) =>
		session.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified });
	return { setVerified };
}
