/** Webhooks for tests, and the messages that their endpoints received. */
import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { activityLog } from "../../src/db/schema/activity_log.ts";
import { organizationId } from "../../src/db/schema/organizations.ts";
import { webhooks } from "../../src/db/schema/webhooks.ts";
import { entries } from "./activity.ts";
import { received } from "./exporting.ts";
import { eventually } from "./time.ts";
import { db, type world } from "./world.ts";

type Home = Awaited<ReturnType<typeof world>>;

/**
 * Adds a webhook through the API. Its endpoint first responds in these ways, see `/plan` of the
 * receiver.
 */
export async function hook(home: Home, ways = "", body: object = {}) {
	const path = ways ? `/plan/${ways}/${crypto.randomUUID()}` : `/hooks/${crypto.randomUUID()}`;
	const response = await home.here("POST", "/webhooks", {
		body: { url: env.RECEIVER_URL + path, ...body },
	});
	const { id, secret } = response.body;
	const at = `/webhooks/${id}`;
	/** Returns the messages that the endpoint received. */
	const messages = () => received(path);
	const read = async () => (await home.here("GET", at)).body;
	const row = async () => {
		const [row] = await db.select().from(webhooks).where(eq(webhooks.id, id));
		if (!row) throw new Error("There is no webhook.");
		return row;
	};
	return {
		id,
		secret,
		path,
		at,
		messages,
		read,
		row,
		/** Returns the ids of the events that the endpoint received, in order. */
		ids: async () => (await messages()).map(({ headers }) => headers["webhook-id"]),
		/** Returns the types of the events that the endpoint received, in order. */
		types: async () =>
			(await messages()).map(({ text }): string => (text ? JSON.parse(text).type : "")),
		patch: (change: object) => home.here("PATCH", at, { body: change }),
		/** Returns the attempts, oldest first. */
		deliveries: () => row().then(({ deliveries }) => deliveries.toReversed()),
		/** Returns the events in the organization's feed after the webhook was added, oldest first. */
		feed: async () => {
			const all = await feedOf(home);
			return all.slice(all.findIndex(({ item_id }) => item_id === id) + 1);
		},
		/** Waits until it has no more events to deliver. */
		idle: () =>
			eventually(async () => {
				const { next_attempt_at, lease_expires_at, attempts } = await row();
				if (next_attempt_at !== null || lease_expires_at !== null || attempts > 0)
					throw new Error("It isn't idle.");
			}),
		/** Waits until this many attempts have failed. */
		failed: (attempts: number) =>
			eventually(async () => {
				const now = await row();
				if (now.attempts !== attempts) throw new Error(`It failed ${now.attempts} times.`);
				return now;
			}),
		/** Makes the next event due now, without starting a worker. */
		due: (change: Partial<typeof webhooks.$inferInsert> = {}) =>
			db
				.update(webhooks)
				.set({ next_attempt_at: "2026-01-01T00:00:00.000Z", ...change })
				.where(eq(webhooks.id, id)),
	};
}

export type Hook = Awaited<ReturnType<typeof hook>>;

/** Returns the organization's feed: all entries, oldest first. */
const feedOf = (home: Home) => entries(eq(activityLog.organization_id, organizationId(home.id)));

let renamed = 0;

/** Causes an event of the type `organization.updated`. */
export const change = (home: Home, env?: Partial<Env>) =>
	home.here("PATCH", "", { body: { name: `Name ${renamed++}` }, ...(env && { env }) });

/** A queue that keeps its messages instead of delivering them. */
export function keeping() {
	const sent: { body: unknown; delaySeconds?: number }[] = [];
	const queue: Queue = Object.assign(Object.create(null), {
		send: async (body: unknown) => sent.push({ body }),
		sendBatch: async (batch: typeof sent) => sent.push(...batch),
	});
	return { sent, queue };
}

/** The tests' D1, which calls `between` before the second batch. */
export function interrupted(between: () => Promise<unknown>): Pick<Env, "DB"> {
	let trips = 0;
	const batch = async (statements: D1PreparedStatement[]) => {
		trips += 1;
		if (trips === 2) await between();
		return env.DB.batch(statements);
	};
	return { DB: Object.assign(Object.create(env.DB), { batch }) };
}

/** A queue that loses its messages. */
export const lossy = { DELIVERIES: keeping().queue } satisfies Partial<Env>;
