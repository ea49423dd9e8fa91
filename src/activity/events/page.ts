import { consoleOf } from "../../outbound/console.ts";
import type { EventRow } from "./event.ts";

type About = Pick<EventRow, "scope" | "item_id" | "project_id" | "trigger">;

/** Returns the address of the console's page of the object that an event is about. */
export function pageOf(organization: string, { scope, item_id, project_id, trigger }: About) {
	const pages = consoleOf(organization);
	const project = String(project_id);
	const of = (name: string) => String(trigger?.[name] ?? "");
	switch (scope) {
		case "BatchExport":
			return pages.batchExport(item_id);
		case "BatchExportRun": {
			const [id, run] = [of("batch_export_id"), of("run_id")];
			return run ? pages.run(id, run) : pages.batchExport(id);
		}
		case "PluginJob":
			return pages.configLog(project, of("plugin_config_id"));
		case "PluginConfig":
			return pages.pluginConfig(project, item_id);
		case "Plugin":
			return pages.plugin(item_id);
		case "Project":
			return pages.project(item_id);
		case "Domain":
			return pages.domain(item_id);
		case "Webhook":
			return pages.webhook(item_id);
		case "AuditStream":
			return pages.auditStream(item_id);
		case "Member":
			return pages.members;
		case "Key": {
			const account = of("service_account_id");
			return account ? pages.accountKey(account, item_id) : pages.events;
		}
		default:
			return pages.activity;
	}
}
