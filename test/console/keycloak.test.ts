/** Sign-ins with Keycloak, connected as docs/sign-on.md says. */
import { beforeAll, describe, expect, test } from "vitest";
import { problemOf } from "../../packages/console/src/pages/sign_in/problems.ts";
import { type Keycloak, missingKeycloak, startKeycloak } from "../support/keycloak.ts";
import { codeOf } from "../support/totp.ts";
import { button, clientOf, cookieOf, inBrowser } from "./support/browser.ts";
import { followOpenId, followSaml } from "./support/guide.ts";
import { linkTo } from "./support/mail.ts";
import { signOut } from "./support/people.ts";
import {
	addFactor,
	addKey,
	arrive,
	authenticate,
	enter,
	enterSettings,
	expectWorks,
	goToProvider,
	newHome,
	OPENID,
	problemOn,
	SAML,
	saveSettings,
	signedInByMail,
	signIn,
	testConnection,
	WAYS,
	type Way,
} from "./support/realm.ts";

const missing = await missingKeycloak();
let keycloak: Keycloak;

const words = (problem: string) => problemOf(problem) ?? "";

describe.skipIf(missing)(`with Keycloak${missing}`, () => {
	beforeAll(async () => {
		keycloak = await startKeycloak();
	});

	const connected = async (way: Way) => {
		const home = await newHome(keycloak);
		await way.connect(home);
		return home;
	};

	for (const way of WAYS) {
		inBrowser(way.name, (open) => {
			test("signs in a new person, and finds them again under another address", async () => {
				const home = await connected(way);
				const ada = await home.add("ada");
				const page = await open("/console/sign_in", { key: "" });
				await signIn(page, ada);
				await arrive(page, home);
				const member = await home.member(ada.email);
				expect(member).toMatchObject({ level: 1, user: { first_name: "Ada" } });
				await signOut(page);
				const renamed = `countess@${home.domain}`;
				await home.realm("PUT", `/users/${ada.id}`, { email: renamed, emailVerified: true });
				// Keycloak's own session goes on.
				await goToProvider(page, renamed);
				await arrive(page, home);
				const me = await clientOf(await cookieOf(page)).users.get({ user: "@me" });
				expect(me.uuid).toBe(member?.user.uuid);
				expect(await home.member(renamed)).toBe(undefined);
			});

			test("is required once an admin has tested it, and ends sessions by mail", async () => {
				const home = await connected(way);
				const grace = await home.addAdmin("grace");
				const page = await open("/console", { key: grace.key });
				await testConnection(page, home, way);
				await authenticate(page, grace.username);
				await expectWorks(page);
				const other = await signedInByMail(open, home);
				await page.getByLabel("People sign in with").selectOption(way.method);
				await saveSettings(page);
				await other.page.reload();
				await other.page.getByLabel("Email address").waitFor();
				// Without a choice.
				await enter(other.page, other.email);
				await authenticate(other.page, other.username);
				await arrive(other.page, home);
			});

			test("rejects a person who was created again, until an admin ends the link to the former account", async () => {
				const home = await connected(way);
				const former = await home.add("ada");
				const page = await open("/console/sign_in", { key: "" });
				await signIn(page, former);
				await arrive(page, home);
				const member = await home.member(former.email);
				await home.realm("DELETE", `/users/${former.id}`);
				const ada = await home.add("ada");
				await signOut(page);
				await signIn(page, ada);
				await problemOn(page).getByText(words("linked_to_another")).waitFor();
				const of = { ...home.at, user: member?.user.uuid ?? "" };
				const [link] = (await home.client.memberIdentities.list(of)).results;
				await home.client.memberIdentities.delete({ ...of, id: link?.id ?? "" });
				await goToProvider(page, ada.email);
				await arrive(page, home);
				expect(await home.member(ada.email)).toMatchObject({ id: member?.id });
			});

			test("asks before it replaces the session of another account", async () => {
				const home = await connected(way);
				const [ada, grace] = [await home.add("ada"), await home.add("grace")];
				const page = await open("/console/sign_in", { key: "" });
				await signIn(page, ada);
				await arrive(page, home);
				await page.context().clearCookies({ domain: new URL(keycloak.url).hostname });
				// The sign-in page leads to the console as long as somebody is signed in.
				await page.evaluate(`location.assign("/sso/${way.method}/${home.at.id}/start")`);
				await authenticate(page, grace.username);
				const dialog = page.getByRole("dialog");
				await dialog.getByText(grace.email).first().waitFor();
				const me = await clientOf(await cookieOf(page)).users.get({ user: "@me" });
				expect(me.email).toBe(ada.email);
			});

			test("ends two sign-ins that were started in one browser", async () => {
				const home = await connected(way);
				const ada = await home.add("ada");
				const page = await open("/console/sign_in", { key: "" });
				await goToProvider(page, ada.email);
				const tab = await page.context().newPage();
				await goToProvider(tab, ada.email);
				await tab.locator("#password").waitFor();
				await authenticate(page, ada.username);
				await arrive(page, home);
				// Keycloak's page notices that the person has signed in elsewhere.
				await arrive(tab, home);
			});
		});
	}

	inBrowser("OpenID Connect", (open) => {
		test("is connected as the guide says, with the names of Keycloak's console", async () => {
			const home = await newHome(keycloak);
			const grace = await home.addAdmin("grace", { emailVerified: false });
			const page = await open("/console", { key: grace.key });
			const console = await page.context().newPage();
			const settings = await followOpenId(console, keycloak, home, grace.username);
			await enterSettings(page, home, settings);
			await testConnection(page, home, OPENID);
			await authenticate(page, grace.username);
			await expectWorks(page);
		});

		test("goes on after the provider has changed its key", async () => {
			const home = await connected(OPENID);
			const ada = await home.add("ada");
			const page = await open("/console/sign_in", { key: "" });
			await signIn(page, ada);
			await arrive(page, home);
			await signOut(page);
			await addKey(home, 200);
			await goToProvider(page, ada.email);
			await arrive(page, home);
		});

		test("rejects a person whose address the provider hasn't verified", async () => {
			const home = await connected(OPENID);
			const ada = await home.add("ada", { emailVerified: false });
			const page = await open("/console/sign_in", { key: "" });
			await signIn(page, ada);
			await problemOn(page).getByText(words("email_not_verified")).waitFor();
			expect(await home.member(ada.email)).toBe(undefined);
		});
	});

	inBrowser("SAML", (open) => {
		test("is connected as the guide says, with the names of Keycloak's console", async () => {
			const home = await newHome(keycloak);
			const grace = await home.addAdmin("grace");
			const page = await open("/console", { key: grace.key });
			const console = await page.context().newPage();
			await enterSettings(page, home, await followSaml(console, keycloak, home));
			await testConnection(page, home, SAML);
			await authenticate(page, grace.username);
			await expectWorks(page);
		});

		test("rejects a key that it doesn't know, and goes on with the certificates of both keys", async () => {
			const home = await connected(SAML);
			const ada = await home.add("ada");
			const key = await addKey(home, 200);
			const page = await open("/console/sign_in", { key: "" });
			await signIn(page, ada);
			await problemOn(page).getByText(words("invalid_response")).waitFor();
			await home.save({ saml_x509_cert: key.certificates });
			await goToProvider(page, ada.email);
			await arrive(page, home);
			await signOut(page);
			await key.setPriority(1);
			await goToProvider(page, ada.email);
			await arrive(page, home);
		});
	});

	// The last test, because it stops Keycloak.
	inBrowser("while Keycloak is stopped", (open) => {
		test("named people still sign in, by mail and with a second factor", async () => {
			const homes = [];
			for (const way of WAYS) {
				const home = await connected(way);
				const grace = await home.addAdmin("grace");
				const page = await open("/console", { key: grace.key });
				await testConnection(page, home, way);
				await authenticate(page, grace.username);
				await expectWorks(page);
				const secret = await addFactor(grace);
				await grace.client.domains.update(home.at, { sso_enforcement: way.method });
				await home.save({ break_glass: [grace.uuid] });
				homes.push({ home, grace, secret });
			}
			await keycloak.stop();
			for (const { home, grace, secret } of homes) {
				const page = await open("/console/sign_in", { key: "" });
				await page.getByLabel("Email address").fill(grace.email);
				await button(page, "Send a link by mail").click();
				await page.getByText("Check your mail.").waitFor();
				await page.goto(await linkTo(grace.email));
				await button(page, "Sign in").click();
				await page.getByRole("textbox", { name: "Code" }).fill(await codeOf(secret));
				await button(page, "Sign in").click();
				await arrive(page, home);
			}
		});
	});
});
