import type { ComponentChildren } from "preact";
import { useRoute } from "preact-iso/router";
import type { Plugin } from "tenantry-client";
import { type Loaded, useLoad } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { Show } from "../../ui/feedback.tsx";
import { PageView, Tabs } from "../../ui/page.tsx";
import { WhoCanSee } from "../members/who_can_see.tsx";
import { useAccess } from "./access.ts";
import { fieldsOf } from "./schema.ts";
import { nameOf } from "./words.tsx";

/** Loads the plugin in the URL. The paths of all families return it. */
export function usePlugin() {
	const { at, organization } = useOrganization();
	const { plugin: id = "" } = useRoute().params;
	return useLoad<Plugin>(
		(signal) => api.pipelineDestinations.get({ ...at, id }, { signal }),
		[organization.id, id],
	);
}

export function useRights(plugin: Plugin) {
	const { organization, isAdmin } = useOrganization();
	const { canInstall } = useAccess();
	const isOwn = canInstall && plugin.organization_id === organization.id;
	const hasSecrets = fieldsOf(plugin.config_schema).some(({ isSecret }) => isSecret);
	return {
		isOwn,
		/** Only admins can change code that runs with secrets (docs/plugins.md#access). */
		canChangeCode: isOwn && (isAdmin || !hasSecrets),
	};
}

export function PluginView<T extends Plugin>({
	of,
	tab,
	children,
}: {
	of: Loaded<T>;
	/** The last part of the path. */
	tab: "" | "/source" | "/activity";
	children: (plugin: T) => ComponentChildren;
}) {
	const { to } = useOrganization();
	const { plugin: id = "" } = useRoute().params;
	const path = to(`plugins/${id}`);
	return (
		<PageView
			title={of.data ? nameOf(of.data) : "Plugin"}
			above={[[to("plugins"), "Plugins"]]}
			state={<WhoCanSee resource="plugin" id={id} />}
			actions={
				of.data && (
					<a
						// The source page has its own main button.
						class={tab === "/source" ? "button secondary" : "button"}
						href={to(`plugin_configs/new?plugin=${id}`)}
					>
						Set up in a project
					</a>
				)
			}
			lead={
				of.data && (
					<>
						{of.data.description}
						{of.data.description && <br />}
						It runs in projects that have a <a href={to("plugin_configs")}>plugin config</a> for it.
					</>
				)
			}
		>
			<Tabs
				label="Plugin"
				current={path + tab}
				tabs={[
					[path, "Overview"],
					[`${path}/source`, "Source"],
					[`${path}/activity`, "Activity"],
				]}
			/>
			<Show of={of}>{children}</Show>
		</PageView>
	);
}
