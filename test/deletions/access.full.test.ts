import { expect, test } from "vitest";
import { furnished, join } from "../support/world.ts";

/*
 * Whoever may delete an object may restore it, and nobody else: for each type, members with access
 * controls of each kind ask for both.
 */

type Home = Awaited<ReturnType<typeof furnished>>;

const PATHS: Record<string, (home: Home) => { path: string; restore: string; id: string }> = {
	project: (home) => both(home, "projects", home.project),
	batch_export: (home) => both(home, "batch_exports", home.batch_export),
	webhook: (home) => both(home, "webhooks", home.webhook),
	plugin: (home) => ({
		...both(home, "plugins", home.frontend),
		path: `/api/organizations/${home.id}/pipeline_frontend_apps/${home.frontend}`,
	}),
	plugin_config: (home) => {
		const path = `/api/projects/${home.project}/plugin_configs/${home.config}`;
		return { path, restore: `${path}/restore`, id: String(home.frontend) };
	},
	"batch_export of the project": (home) => {
		const path = `/api/projects/${home.project}/batch_exports/${home.batch_export}`;
		return { path, restore: `${path}/restore`, id: home.batch_export };
	},
};

function both({ id: organization }: Home, family: string, id: string | number) {
	const path = `/api/organizations/${organization}/${family}/${id}`;
	return { path, restore: `${path}/restore`, id: String(id) };
}

/** What a member is given: to all objects of the resource, to the one, and to its project. */
const GIVEN = [
	{},
	{ all: "none" },
	{ all: "viewer" },
	{ all: "editor" },
	{ all: "manager" },
	{ one: "none" },
	{ one: "viewer" },
	{ one: "editor" },
	{ one: "manager" },
	{ all: "viewer", one: "manager" },
	{ all: "none", one: "manager" },
	{ all: "manager", one: "viewer" },
	{ project: "viewer" },
	{ project: "none" },
	{ project: "viewer", one: "manager" },
];

test.each(Object.keys(PATHS))(
	"who may delete a %s may restore it, and nobody else",
	async (name) => {
		const home = await furnished();
		const { path, restore, id } = PATHS[name]?.(home) ?? both(home, "", 0);
		const resource = name.replace("plugin_config", "plugin").replace(/ .*/, "");
		const wrong: string[] = [];
		const callers = [];
		for (const given of GIVEN) {
			const member = await join(home.id, 1);
			const give = async (about: object, access_level: string) => {
				const body = { ...about, member: member.uuid, access_level };
				expect((await home.here("POST", "/access_controls", { body })).status).toBe(201);
			};
			if (given.all) await give({ resource }, given.all);
			if (given.one) await give({ resource, resource_id: id }, given.one);
			const project = { resource: "project", resource_id: String(home.project) };
			if (given.project && resource !== "project") await give(project, given.project);
			callers.push({ ...member, title: JSON.stringify(given) });
		}
		for (const level of [8, 15])
			callers.push({ ...(await join(home.id, level)), title: `${level}` });
		for (const { key, title } of callers) {
			const deleted = (await home.ask("DELETE", path, { key })).status;
			if (deleted !== 204) expect((await home.ask("DELETE", path)).status).toBe(204);
			const restored = (await home.ask("POST", restore, { key })).status;
			if (restored !== 200) expect((await home.ask("POST", restore)).status).toBe(200);
			if (restored !== (deleted === 204 ? 200 : deleted))
				wrong.push(`${title}: DELETE ${deleted}, restore ${restored}`);
		}
		expect(wrong).toEqual([]);
	},
);
