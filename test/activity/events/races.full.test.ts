import { v7 } from "uuid";
import { expect, test } from "vitest";
import { call, join, withBatch, world } from "../../support/world.ts";

type Event = { id: string; type: string; data: { name: string } };

/** So many requests in a minute that they would be throttled. */
const unlimited: Partial<Env> = { REQUESTS: { limit: async () => ({ success: true }) } };

/**
 * The tests' D1 at changing distances: an event gets its id and time before others that are written
 * earlier.
 */
const distant: Partial<Env> = {
	...unlimited,
	...withBatch(async (send) => {
		await new Promise((resolve) => setTimeout(resolve, Math.random() * 50));
		return send();
	}),
};

const WRITERS = 20;
const ROUNDS = 3;

/**
 * Reads the feed until `isOver`, and then to its end: from where the last answer ended, a few
 * events at a time.
 */
async function follow(path: string, key: string, limit: number, isOver: () => boolean) {
	const seen: Event[] = [];
	let after: string | null = null;
	let isLast = false;
	while (true) {
		const place: string = after === null ? "" : `&after=${after}`;
		const { status, body } = await call("GET", `${path}?limit=${limit}${place}`, {
			key,
			env: unlimited,
		});
		expect(status).toBe(200);
		seen.push(...body.results);
		after = body.after;
		if (body.next !== null) continue;
		// What was written before the end is in the feed, so one more look is enough.
		if (isLast) return seen;
		await new Promise((resolve) => setTimeout(resolve, 20));
		isLast = isOver();
	}
}

test("three readers get the same events in the same order, and none is missing, while twenty writers write", async () => {
	const home = await world();
	const { id, project, key } = home;
	const base = `/api/organizations/${id}`;
	/** What succeeded: the types of the events that there must be, with their names. */
	const written: string[] = [];
	const write = async (type: string, name: string, method: string, path: string, body?: object) => {
		const { status, body: response } = await call(method, path, {
			key,
			env: distant,
			...(body && { body }),
		});
		if (status < 300) written.push(`${type} ${name}`);
		else expect([400, 404, 409]).toContain(status);
		return { status, body: response };
	};

	/** Each writer has objects of its own, and some that others write to as well. */
	async function writer(n: number) {
		for (let round = 0; round < ROUNDS; round++) {
			const name = `w${n}-${round}`;
			switch ((n + round) % 5) {
				case 0: {
					const host = `${name}-${v7()}.example.com`;
					const made = await write("domain.created", host, "POST", `${base}/domains`, {
						domain: host,
					});
					await write("domain.deleted", host, "DELETE", `${base}/domains/${made.body.id}`);
					break;
				}
				case 1: {
					const address = `${name}-${v7()}@tenantry.test`;
					const invite = { target_email: address, send_email: false };
					const made = await write("invite.created", address, "POST", `${base}/invites`, invite);
					await write("invite.created", address, "POST", `${base}/invites`, { target_email: "no" });
					await write("invite.deleted", address, "DELETE", `${base}/invites/${made.body.id}`);
					await write("invite.deleted", address, "DELETE", `${base}/invites/${made.body.id}`);
					break;
				}
				case 2: {
					const made = await write("project.created", name, "POST", "/api/projects", {
						name,
						organization: id,
					});
					const path = `/api/projects/${made.body.id}`;
					await write("project.updated", `${name}!`, "PATCH", path, { name: `${name}!` });
					await write("project.deleted", `${name}!`, "DELETE", path);
					break;
				}
				case 3: {
					const member = await join(id, 1);
					const path = `/api/projects/${project}/members`;
					const body = { user_uuid: member.uuid, level: 1 };
					await Promise.all([
						write("project_member.created", member.email, "POST", path, body),
						write("project_member.created", member.email, "POST", path, body),
					]);
					await write("member.updated", member.email, "PATCH", `${base}/members/${member.uuid}`, {
						level: 8,
					});
					await write("member.deleted", member.email, "DELETE", `${base}/members/${member.uuid}`);
					break;
				}
				default:
					await write("organization.updated", name, "PATCH", base, { name });
					await write("personal_api_key.created", name, "POST", "/api/personal_api_keys", {
						label: name,
						scopes: ["nonsense"],
					});
			}
		}
	}

	let isOver = false;
	const reading = [2, 7, 100].map((limit) => follow(`${base}/events`, key, limit, () => isOver));
	await Promise.all(Array.from({ length: WRITERS }, (_, n) => writer(n)));
	isOver = true;
	const [first = [], ...others] = await Promise.all(reading);
	for (const other of others) expect(other).toEqual(first);
	const ids = first.map((event) => event.id);
	expect(new Set(ids).size).toBe(ids.length);
	expect(ids).not.toEqual(ids.toSorted());
	const seen = first.map(({ type, data }) => `${type} ${data.name}`);
	expect(seen.toSorted()).toEqual(written.toSorted());
	expect(seen.length).toBeGreaterThan(100);
	const whole = await follow(`${base}/events`, key, 1000, () => true);
	expect(whole).toEqual(first);
});
