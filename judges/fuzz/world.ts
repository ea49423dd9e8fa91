/** The objects that `npm run fuzz` starts with: one of each kind, created through the API. */
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";

const Body = z.looseObject({
	id: z.union([z.string(), z.int()]).optional(),
	results: z.array(z.looseObject({})).optional(),
});

const Document = z.object({ paths: z.record(z.string(), z.unknown()) });

/** A path at which a POST has an example. */
const Creating = z.object({
	post: z.object({
		requestBody: z.object({
			content: z.object({ "application/json": z.object({ example: z.unknown() }) }),
		}),
	}),
});

const IN_ORGANIZATION = "/api/organizations/{organization_id}";

/** The documented bodies that create objects in an organization, by the path below it. */
function examplesIn(document: unknown) {
	const { paths } = Document.parse(document);
	const isList = (path: string) =>
		Object.keys(paths).some((other) => other.startsWith(`${path}/{`));
	return Object.entries(paths).flatMap(([path, methods]) => {
		if (!path.startsWith(`${IN_ORGANIZATION}/`) || !isList(path)) return [];
		const { data } = Creating.safeParse(methods);
		const example = data?.post.requestBody.content["application/json"].example;
		return example === undefined ? [] : [[path.slice(IN_ORGANIZATION.length), example] as const];
	});
}

const SPARES = 4;
const RUNS_TIMEOUT_MS = 60_000;

const HOUR = 3_600_000;

/** A client with a key. It throws unless the response is a success. */
const clientOf = (url: string, key?: string) =>
	async function ask(method: string, path: string, body?: unknown) {
		const response = await fetch(`${url}${path}`, {
			method,
			headers: {
				...(key && { authorization: `Bearer ${key}` }),
				"content-type": "application/json",
			},
			...(body !== undefined && { body: JSON.stringify(body) }),
		});
		const text = await response.text();
		if (!response.ok) throw new Error(`${method} ${path}: ${text}`);
		return text === "" ? {} : Body.parse(JSON.parse(text));
	};

const several = <T>(n: number, make: (i: number) => Promise<T>) =>
	Promise.all(Array.from({ length: n }, (_, i) => make(i)));

/**
 * @param document the OpenAPI document, whose examples are used for the kinds that need nothing
 * special
 * @param key of a user who owns `organization`, whose first project is `project`
 */
export async function populate(
	url: string,
	document: unknown,
	{ key, organization, project }: { key: string; organization: string; project: number },
) {
	const ask = clientOf(url, key);
	const make = async (path: string, body: unknown) =>
		z.union([z.string(), z.int()]).parse((await ask("POST", path, body)).id);
	const base = `/api/organizations/${organization}`;
	const below = `/api/projects/${project}`;
	const hour = Math.floor(Date.now() / HOUR) * HOUR;
	const since = new Date(hour - 2 * HOUR).toISOString();

	/** Creates an invite. */
	async function invite(name: string, level: number) {
		const { id, accept_url } = await ask("POST", `${base}/invites`, {
			target_email: `${name}@example.com`,
			level,
			send_email: false,
		});
		const token = String(accept_url).split("/").at(-1) ?? "";
		return { id: String(id), token };
	}
	/** Creates a member with a key. */
	async function join(name: string, level = 1) {
		const { token } = await invite(name, level);
		const { user, personal_api_key } = await clientOf(url)("POST", `/api/invites/${token}/accept`, {
			first_name: name,
		});
		return {
			uuid: z.looseObject({ uuid: z.string() }).parse(user).uuid,
			key: z.looseObject({ value: z.string() }).parse(personal_api_key).value,
		};
	}
	async function plugin(family: string, name: string, files: object) {
		const at = `${base}/pipeline_${family}`;
		const id = await make(at, { name, plugin_type: "source" });
		await ask("PATCH", `${at}/${id}/update_source`, files);
		return id;
	}
	/** Creates an export of two hours, and waits until its runs have ended. */
	async function exported(name: string) {
		const at = `${below}/batch_exports`;
		const destination = { type: "NoOp", config: {} };
		const id = await make(at, { name, interval: "hour", destination });
		const { backfill_id } = await ask("POST", `${at}/${id}/backfill`, {
			start_at: since,
		});
		for (let waited = 0; waited < RUNS_TIMEOUT_MS; waited += 500) {
			await fetch(`${url}/cdn-cgi/local/scheduled?cron=*+*+*+*+*`);
			const { results = [] } = await ask("GET", `${at}/${id}/runs`);
			if (results.length === 2 && results.every((run) => run.finished_at))
				return { id, backfill_id, runs: results.map((run) => run.id) };
			await sleep(500);
		}
		throw new Error("The runs of an export didn't end.");
	}

	const [member, ...spareMembers] = await several(SPARES, (i) => join(`member-${i}`));
	if (!member) throw new Error("Nobody joined.");
	const stranger = clientOf(url, member.key);
	const plugins = {
		destination: await plugin("destinations", "Destination", {
			"index.js": "export function onEvent() {}",
		}),
		app: await plugin("frontend_apps", "App", {
			"frontend.tsx": "export const scene = {};",
		}),
		importer: await plugin("import_apps", "Import", {
			"index.js": "export function runEveryHour() {}\nexport const jobs = { go() {} };",
		}),
	};
	const config = (plugin: unknown, order: number) =>
		make(`${below}/plugin_configs`, { plugin, order, enabled: true });
	const configs = [await config(plugins.importer, 1), await config(plugins.app, 2)];
	await ask("POST", `${below}/plugin_configs/${configs[0]}/job`, {
		job: { type: "go" },
	});
	await ask("POST", `${below}/events`, [
		{ event: "seen", distinct_id: "someone", properties: { path: "/" } },
	]);
	await ask("POST", `${below}/members`, { user_uuid: member.uuid, level: 1 });
	const account = await make(`${base}/service_accounts`, { name: "Account" });
	const first = await exported("Export");
	const { id: current } = await ask("GET", "/api/personal_api_keys/@current");
	const keys = await several(SPARES, (i) =>
		make("/api/personal_api_keys", { label: `Spare ${i}`, scopes: ["*"] }),
	);
	const second = await make("/api/organizations", { name: "Second" });
	/** Another user's organization. */
	const strangers = (await stranger("POST", "/api/organizations", { name: "Other" })).id;
	const invites = await several(SPARES, (i) => invite(`invited-${i}`, 1));
	const sparePlugins = await several(SPARES, (i) =>
		make(`${base}/pipeline_destinations`, { name: `Spare ${i}` }),
	);

	/** Creates an object that operations use, and spare ones for those that delete or disable. */
	async function createEach(path: string, body: (i: number) => unknown) {
		const [used, ...spare] = await several(SPARES + 1, (i) => make(path, body(i)));
		return { used: [used], spare };
	}

	/** By part of the path before `{id}`: the objects that operations use, and spare ones. */
	const objects: { [path: string]: { used: unknown[]; spare: unknown[] } } = {
		"/organizations": {
			used: [organization, "@current", strangers],
			spare: await several(SPARES, (i) => make("/api/organizations", { name: `Spare ${i}` })),
		},
		"/personal_api_keys": { used: keys.slice(0, 1), spare: keys.slice(1) },
		"/projects": {
			used: [String(project), "@current"],
			spare: await several(SPARES, (i) =>
				make("/api/projects", { name: `Spare ${i}`, organization }),
			),
		},
		"/batch_exports": {
			used: [first.id],
			spare: await several(SPARES, (i) =>
				make(`${below}/batch_exports`, {
					name: `Spare ${i}`,
					interval: "day",
					destination: { type: "NoOp" },
				}),
			),
		},
		"/domains": await createEach(`${base}/domains`, (i) => ({ domain: `fuzz-${i}.example.com` })),
		"/invites": { used: [], spare: invites.map(({ id }) => id) },
		"/pipeline_destinations": { used: [plugins.destination], spare: sparePlugins },
		"/pipeline_frontend_apps": { used: [plugins.app], spare: sparePlugins },
		"/pipeline_import_apps": { used: [plugins.importer], spare: sparePlugins },
		"/plugin_configs": {
			used: configs,
			spare: await several(SPARES, (i) =>
				make(`${below}/plugin_configs`, { plugin: plugins.destination, order: i + 3 }),
			),
		},
		"/service_accounts": {
			used: [account],
			spare: await several(SPARES, (i) => make(`${base}/service_accounts`, { name: `Spare ${i}` })),
		},
		"/webhooks": await createEach(`${base}/webhooks`, () => ({
			url: "https://receiver.example.com",
			types: ["nothing.happened"],
		})),
	};
	for (const [path, body] of examplesIn(document)) {
		const at = base + path.replace("{service_account_id}", String(account));
		if (!at.includes("{")) objects[path] ??= await createEach(at, () => body);
	}
	const created = {
		organization,
		project,
		second,
		strangers,
		/** The key in use. */
		current,
		account,
		member: member.uuid,
		spareMembers: spareMembers.map(({ uuid }) => uuid),
		tokens: invites.map(({ token }) => token),
		plugins,
		configs,
		backfill: first.backfill_id,
		runs: first.runs,
		since,
		objects,
	};
	// Creating an organization or project makes it the current one.
	await ask("PATCH", "/api/users/@me", { project });
	return created;
}

export type World = Awaited<ReturnType<typeof populate>>;
