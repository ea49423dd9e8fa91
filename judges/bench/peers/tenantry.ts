/** Services with the same paths and responses as this one. */
import * as z from "zod";
import { type Call, newEmail, type Operation, type Service } from "../operations.ts";
import type { Owner } from "../seed.ts";
import type { RunningWorker } from "../workers.ts";

const Page = z.object({
	count: z.int(),
	results: z.array(
		z.object({
			user: z.object({ email: z.string() }).optional(),
			domain: z.string().optional(),
		}),
	),
});

const Invite = z.object({ id: z.guid(), target_email: z.string(), accept_url: z.url() });

export function callOf({ organization, key }: Owner, operation: Operation): Call {
	const base = `/api/organizations/${organization}`;
	const headers = { authorization: `Bearer ${key}` };
	if (operation === "list") return { method: "GET", path: `${base}/members?limit=50`, headers };
	if (operation === "domain") return { method: "GET", path: `${base}/domains`, headers };
	return {
		method: "POST",
		path: `${base}/invites`,
		headers: { ...headers, "content-type": "application/json" },
		body: JSON.stringify({ target_email: newEmail(), message: "Welcome" }),
	};
}

export function read(operation: Operation, body: unknown) {
	if (operation === "invite") return { count: 1, names: [Invite.parse(body).target_email] };
	const { count, results } = Page.parse(body);
	return { count, names: results.map(({ user, domain }) => user?.email ?? domain ?? "") };
}

export const asService = (name: string, owner: Owner, worker: RunningWorker): Service => ({
	name,
	url: worker.url,
	call: (operation) => callOf(owner, operation),
	read,
	cpu: worker.cpu,
	counts: true,
	async reset() {
		const database = await worker.database();
		await database.batch(
			["invites", "activity_log", "invite_mails"].map((table) =>
				database.prepare(`delete from ${table}`),
			),
		);
	},
	size: worker.size,
	stop: worker.stop,
});
