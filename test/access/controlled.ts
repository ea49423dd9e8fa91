import { eq } from "drizzle-orm";
import { expect } from "vitest";
import { organizations } from "../../src/db/schema/organizations.ts";
import { db, furnished, join, keyFor } from "../support/world.ts";

/**
 * Creates a member of level 1 in an organization with access controls.
 * @returns `compare`, which runs the same request without access controls and with them
 */
export async function controlledMember() {
	const home = await furnished();
	// Rows of another organization come after its own: a search may read the next one.
	await furnished();
	const user = await join(home.id, 1);
	for (const given of [
		{ resource: "organization_member", access_level: "viewer" },
		{ resource: "batch_export", access_level: "manager", member: user.uuid },
		{ resource: "webhook", access_level: "viewer", member: user.uuid },
	])
		expect((await home.here("POST", "/access_controls", { body: given })).status).toBe(201);
	const isHome = eq(organizations.id, home.organization_id);
	const columns = { access: organizations.access };
	const [stored] = await db.select(columns).from(organizations).where(isHome);
	const set = (access: string | null) => db.update(organizations).set({ access }).where(isHome);
	const compare = async <R>(request: () => Promise<R>) => {
		await set(null);
		const off = await request();
		await set(stored?.access ?? null);
		return { off, on: await request() };
	};
	return { home, key: await keyFor(user.id), compare };
}
