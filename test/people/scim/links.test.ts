import { eq } from "drizzle-orm";
import { v7 } from "uuid";
import { expect, test } from "vitest";
import { activityLog } from "../../../src/db/schema/activity_log.ts";
import { domains } from "../../../src/db/schema/organizations.ts";
import { identities } from "../../../src/db/schema/sign_in.ts";
import { finish, identitiesOf, userWith, who } from "../../sign_in/oidc/support.ts";
import { provisioned } from "../../support/scim.ts";
import { db } from "../../support/world.ts";

/** Somebody whom SCIM has added, and who has signed in through the domain's provider. */
async function employed() {
	const home = await provisioned();
	const email = home.address();
	const { id } = await home.add(email);
	const tenant = {
		...home,
		set: (changes: Partial<typeof domains.$inferInsert>) =>
			db.update(domains).set(changes).where(eq(domains.id, home.domain_id)),
		colleague: async () => {
			throw new Error("Unused.");
		},
	};
	const signIn = () => finish(tenant, who(tenant, { email }));
	await signIn();
	const links = async () =>
		(await identitiesOf(await userWith(email))).map(({ connection }) => connection).sort();
	return { home, id, email, signIn, links, connection: `oidc:${home.domain_id}` };
}

const signedIn = expect.objectContaining({ token: expect.any(String) });

test("a DELETE unlinks the account at the provider, so that whoever returns can sign in with another one", async () => {
	const { home, id, email, signIn, links, connection } = await employed();
	const user_id = (await userWith(email))?.id ?? 0;
	const more = ["google-oauth2", `saml:${v7()}`];
	for (const each of more)
		await db.insert(identities).values({ connection: each, subject: v7(), user_id, email });
	expect(await signIn()).toMatchObject({ problem: "linked_to_another" });
	// Both are requests of Entra, which deletes a person after a month without access.
	await home.patch(`/Users/${id}`, { op: "replace", path: "active", value: "False" });
	expect(await links()).toEqual([...more, connection].sort());
	expect((await home.scim("DELETE", `/Users/${id}`)).status).toBe(204);
	expect(await links()).toEqual([more[1]]);
	const entries = await db
		.select()
		.from(activityLog)
		.where(eq(activityLog.organization_id, home.organization_id));
	expect(
		entries.filter(({ scope, activity }) => scope === "Identity" && activity === "deleted"),
	).toMatchObject([
		{ item_id: "google-oauth2", name: email, trigger: { job_type: "scim" } },
		{ item_id: connection, name: email, trigger: { job_type: "scim" } },
	]);
	await home.add(email);
	expect(await signIn()).toEqual(signedIn);
});
