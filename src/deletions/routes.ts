import * as z from "zod";
import { body } from "../access/input.ts";
import { needsOfDeleted, pluginAccess } from "../access/middleware.ts";
import { ok, router } from "../http/router.ts";
import { LEVELS, restore, type Type } from "./restore.ts";
import { Restored, restore as shape } from "./shape.ts";

const DESCRIPTION =
	"Restoring what was deleted in the last 30 days (`DELETED_OBJECT_DAYS`), with the same ids. Lists show deleted objects with `deleted=true`.";

/** A type of object, the word for it in the operation's id, and what it comes back with. */
type Mounted = { type: Type; Id: string; one: string; who: string; also: string };

/** docs/api.md#deleted-objects */
function routes({ type, Id, one, who, also }: Mounted) {
	const restoring = router({
		name: "Deleted objects",
		description: DESCRIPTION,
		parameters: { deleted_id: z.string().describe("The id of the deleted object.") },
	});
	if (type === "plugin") restoring.use("*", pluginAccess);
	return restoring.post(
		"/",
		ok(Restored, {
			id: `restore${Id}`,
			summary: `Restore ${one}`,
			description: `${who} Restores ${one} that was deleted, with what it had${also}. 404 if it can't be restored any more, or is already. 409 if something that it needs is missing, or its place was taken meanwhile.`,
		}),
		needsOfDeleted("manager", LEVELS[type]),
		body(shape),
		async (c) =>
			c.json(
				await restore(c.var.tenant, type, c.req.param("deleted_id") ?? "", c.req.valid("json")),
			),
	);
}

export const projects = () =>
	routes({
		type: "project",
		Id: "OrganizationProject",
		one: "a project",
		who: "Requires level 15 in the organization.",
		also: ": its members, exports, plugin configs and events. Its exports go on from now; `gaps` has what they missed",
	});

/** @param Id the word for an export in the ids of operations */
const exports = (Id: string) =>
	routes({
		type: "batch_export",
		Id,
		one: "an export",
		who: "Any member who could delete it may do so.",
		also: ": its schedule, secrets, runs and log. It goes on from now; `gaps` has what it missed. What was running failed",
	});

export const exportsOfOrganization = () => exports("BatchExport");
export const exportsOfProject = () => exports("ProjectBatchExport");

export const webhooks = () =>
	routes({
		type: "webhook",
		Id: "Webhook",
		one: "a webhook",
		who: "Requires level 8.",
		also: ": its secret and deliveries. It gets events that happen after that",
	});

export const plugins = () =>
	routes({
		type: "plugin",
		Id: "Plugin",
		one: "a plugin",
		who: "Requires a `plugins_access_level` of 6.",
		also: ": its source, and its configs with their secrets and storage, but not their logs",
	});

export const pluginConfigs = () =>
	routes({
		type: "plugin_config",
		Id: "PluginConfig",
		one: "a plugin config",
		who: "Any member who could delete it may do so.",
		also: ": its place in the order, its secrets and its storage, but not its log and waiting jobs",
	});
