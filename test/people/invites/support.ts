import { eq } from "drizzle-orm";
import { v7 } from "uuid";
import { expect } from "vitest";
import { invites } from "../../../src/db/schema/people.ts";
import { call, db, type world } from "../../support/world.ts";

export type Home = Awaited<ReturnType<typeof world>>;

export const DAY = 86_400_000;

export const address = () => `${v7()}@invited.test`;

/** The token in the link of an invite. */
export const tokenIn = ({ accept_url }: { accept_url: unknown }) =>
	String(accept_url).split("/").at(-1) ?? "";

/** A new invite that isn't mailed, with the token of its link. */
export async function createInvite({ here }: Pick<Home, "here">, fields: object = {}) {
	const { status, body } = await here("POST", "/invites", {
		body: { target_email: address(), send_email: false, ...fields },
	});
	expect(status).toBe(201);
	return { ...body, token: tokenIn(body) };
}

/** A new invite as if its link had been mailed. */
export async function createMailedInvite(home: Pick<Home, "here">, fields: object = {}) {
	const invite = await createInvite(home, fields);
	await db.update(invites).set({ emailing_attempt_made: true }).where(eq(invites.id, invite.id));
	return invite;
}

/** Makes the invite `days` old. */
export const age = (id: string, days: number) =>
	db
		.update(invites)
		.set({ created_at: new Date(Date.now() - days * DAY).toISOString() })
		.where(eq(invites.id, id));

export const accept = (token: string, options: Parameters<typeof call>[2] = {}) =>
	call("POST", `/api/invites/${token}/accept`, {
		headers: { "cf-connecting-ip": v7() },
		...options,
	});

/** The number of members, open invites and acceptances of an organization. */
export async function stateOf({ here }: Pick<Home, "here">) {
	const count = async (path: string): Promise<number> => (await here("GET", path)).body.count;
	return {
		members: await count("/members"),
		invites: await count("/invites"),
		accepted: await count("/activity_log?activity=accepted"),
	};
}
