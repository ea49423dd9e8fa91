import type { Context } from "hono";
import { body, query } from "../../access/valid.ts";
import type { App } from "../../env.ts";
import { orNotFound } from "../../http/errors.ts";
import { page } from "../../http/page.ts";
import {
	created,
	javascript,
	noBody,
	noContent,
	ok,
	paginated,
	router,
} from "../../http/router.ts";
import { PluginConfig } from "../plugins/plugin_config.ts";
import * as logs from "./logs.ts";
import * as configs from "./queries.ts";
import { create, job, logFilters, PluginLogEntry, rearrange, update } from "./shape.ts";
import * as jobs from "./start_job.ts";

/** Responds with an empty body, of a type that no server compresses. */
function empty(c: Context<App>, link?: string) {
	if (link) c.header("Link", link);
	c.header("Content-Length", "0");
	c.header("Content-Type", "application/octet-stream");
	return c.body(null, 200);
}

/** docs/plugins.md#plugin-configs */
export default router()
	.get("/", paginated(PluginConfig), async (c) => c.json(await configs.list(c.var.tenant, page(c))))
	.post("/", created(PluginConfig), body(create), async (c) =>
		c.json(await configs.insert(c.var.tenant, c.req.valid("json")), 201),
	)
	.patch("/rearrange", noBody(), body(rearrange), async (c) => {
		await configs.rearrange(c.var.tenant, c.req.valid("json"));
		return empty(c);
	})
	.get("/:id", ok(PluginConfig), async (c) =>
		c.json(await configs.find(c.var.tenant, c.req.param("id"))),
	)
	.patch("/:id", ok(PluginConfig), body(update, configs.find), async (c) =>
		c.json(await configs.update(c.var.tenant, c.req.param("id"), c.req.valid("json"))),
	)
	.delete("/:id", noContent(), async (c) => {
		await configs.remove(c.var.tenant, c.req.param("id"));
		return c.body(null, 204);
	})
	.get("/:id/activity", noBody(), async (c) => {
		const { id, team_id } = await configs.find(c.var.tenant, c.req.param("id"));
		const url = `/api/projects/${team_id}/activity_log/?scope=PluginConfig&item_id=${id}`;
		return empty(c, `<${url}>; rel="alternate"`);
	})
	.get("/:id/frontend", noBody(), async (c) => {
		const { id, team_id, script } = await configs.frontend(c.var.tenant, c.req.param("id"));
		if (script === null) return empty(c);
		const url = `/api/projects/${team_id}/plugin_configs/${id}/frontend.js`;
		return empty(c, `<${url}>; rel="alternate"; type="text/javascript"`);
	})
	.get("/:id/frontend.js", javascript(), async (c) => {
		const { script } = await configs.frontend(c.var.tenant, c.req.param("id"));
		return c.body(orNotFound(script), 200, { "Content-Type": "text/javascript" });
	})
	.post("/:id/job", noBody(), body(job, jobs.find), async (c) => {
		const { id, team_id } = await jobs.start(c.var.tenant, c.req.param("id"), c.req.valid("json"));
		return empty(c, `</api/projects/${team_id}/plugin_configs/${id}/logs/>; rel="monitor"`);
	})
	.post("/:id/migrate", noBody(), async (c) => {
		await configs.migrate(c.var.tenant, c.req.param("id"));
		return empty(c);
	})
	.get(
		"/:plugin_config_id/logs",
		paginated(PluginLogEntry),
		query(logFilters, configs.find),
		async (c) =>
			c.json(
				await logs.list(
					c.var.tenant,
					c.req.param("plugin_config_id"),
					page(c),
					c.req.valid("query"),
				),
			),
	);
