/** The pages of an organization, without what the user may not do there (docs/access.md). */
import type { ComponentChildren } from "preact";
import { useLocation } from "preact-iso/router";
import { accessIn, type Resource } from "./access.ts";
import { lazy } from "./lazy.tsx";
import { readable, useLoad } from "./load.ts";
import { useOrganization } from "./organization.tsx";
import { api } from "./session.ts";
import { MayChange } from "./ui/may_change.ts";

/** What changes on pages require, by the first segment of their paths: access and a scope. */
const PAGES: Record<string, readonly [resource: Resource | undefined, scope: string]> = {
	members: ["organization_member", "organization_member"],
	access: ["organization_member", "organization_member"],
	service_accounts: ["organization_member", "organization_member"],
	apps: ["organization_member", "organization"],
	projects: ["project", "project"],
	domains: ["domain", "organization"],
	notifications: ["activity_log", "organization"],
	settings: [undefined, "organization"],
	plugins: ["plugin", "plugin"],
	plugin_configs: ["plugin", "plugin"],
	batch_exports: ["batch_export", "batch_export"],
	webhooks: ["webhook", "webhook"],
	audit_streams: ["activity_log", "audit_stream"],
};

/** Whether a list of scopes allows changes. */
const mayWrite = (scopes: readonly string[], object: string) =>
	scopes.some((scope) => ["*", `${object}:write`, `${object}:run`].includes(scope));

const Banner = lazy(() => import("./pages/access_banner.tsx"));

/** The pages of an organization, without what the user may not do on the current one. */
export function WithAccess({ children }: { children: ComponentChildren }) {
	const { path } = useLocation();
	const { at, access } = useOrganization();
	const [, , , page = "", id] = path.split("/");
	const [resource, scope] = PAGES[page] ?? [];
	const own = resource && accessIn(access, resource, id);
	// What is in a project, and configs of plugins, follow from access to something else.
	const isLimited = access.rows.some(({ decided_by }) => decided_by !== "default");
	const isObject = isLimited && page === "batch_exports" && id !== undefined && id !== "new";
	const found = useLoad(
		async (signal) => {
			if (!isObject || !resource) return undefined;
			const asked = { ...at, member: "@me", resource, resource_id: id };
			return (await readable(api.access.explain(asked, { signal }))).results[0];
		},
		[at.organization, isObject, id],
	);
	const shown = found.data ?? own;
	const isKeyLimited = scope !== undefined && access.scopes && !mayWrite(access.scopes, scope);
	const mayChange = !isKeyLimited && shown?.can_edit !== false;
	return (
		<MayChange.Provider value={mayChange}>
			{!mayChange && <Banner access={isKeyLimited ? undefined : shown} />}
			{children}
		</MayChange.Provider>
	);
}
