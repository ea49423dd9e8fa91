import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";
import * as z from "zod";
import { type Call, newEmail, type Operation, type Service } from "../../operations.ts";
import { FIRST_PERSON, insertRows, MEMBERS, people, TIME } from "../../seed.ts";
import { bundleWorker, startWorker } from "../../workers.ts";

const folder = import.meta.dirname;

export const isInstalled = () => existsSync(`${folder}/node_modules/better-auth`);

/** Installs its packages below this folder, so that they never become part of the service. */
async function install() {
	if (isInstalled()) return;
	const words = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"];
	await promisify(execFile)("npm", words, { cwd: folder });
}

const Owner = z.object({ organization: z.string(), key: z.string() });

const Members = z.object({
	total: z.int(),
	members: z.array(z.object({ user: z.object({ email: z.string() }) })),
});

const Invitation = z.object({ id: z.string(), email: z.string() });

const ID = `printf('%032x', ${FIRST_PERSON} + i)`;

/**
 * Bundles a worker with its packages, and installs them first if necessary.
 * @throws if they can't be installed
 */
export async function bundle() {
	await install();
	return bundleWorker(`${folder}/worker.js`);
}

/** @param state an empty folder for the data of the service */
export async function start(script: string, state: string): Promise<Service> {
	const worker = await startWorker({ script, state });
	const response = await fetch(new URL("/bench/setup", worker.url).href);
	if (!response.ok) throw new Error(await response.text());
	const { organization, key } = Owner.parse(await response.json());
	const database = await worker.database();
	const rows = (table: string, columns: Record<string, string | number>) =>
		database.prepare(insertRows(table, columns)).bind(0, MEMBERS - 1);
	await database.batch([
		rows("user", {
			id: ID,
			name: `${people.first_name} || ' ' || ${people.last_name}`,
			email: people.email,
			emailVerified: 0,
			createdAt: TIME,
			updatedAt: TIME,
		}),
		rows("member", {
			id: ID,
			organizationId: `'${organization}'`,
			userId: ID,
			role: "'member'",
			createdAt: TIME,
		}),
	]);
	const headers = { "x-api-key": key };

	function call(operation: Operation): Call | null {
		const base = "/api/auth/organization";
		const newestFirst = "sortBy=createdAt&sortDirection=desc";
		if (operation === "list")
			return {
				method: "GET",
				path: `${base}/list-members?organizationId=${organization}&limit=50&${newestFirst}`,
				headers,
			};
		if (operation === "domain") return null;
		return {
			method: "POST",
			path: `${base}/invite-member`,
			headers: { ...headers, "content-type": "application/json" },
			body: JSON.stringify({ email: newEmail(), role: "member", organizationId: organization }),
		};
	}

	return {
		name: "better-auth",
		url: worker.url,
		call,
		read(operation, body) {
			if (operation === "invite") return { count: 1, names: [Invitation.parse(body).email] };
			const { total, members } = Members.parse(body);
			return { count: total, names: members.map(({ user }) => user.email) };
		},
		cpu: worker.cpu,
		reset: () => database.prepare("delete from invitation").run(),
		counts: true,
		size: worker.size,
		stop: worker.stop,
	};
}
