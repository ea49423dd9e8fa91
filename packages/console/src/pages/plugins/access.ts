import { useOrganization } from "../../organization.tsx";

/** The levels of `plugins_access_level` (docs/plugins.md#access). */
const CONFIGURE = 3;
const INSTALL = 6;
const ROOT = 9;

/** Returns what the organization, and so each of its members, may do with plugins. */
export function useAccess() {
	const { organization } = useOrganization();
	const level = organization.plugins_access_level;
	return {
		/** Whether plugins can be read and configured. */
		canConfigure: level >= CONFIGURE,
		canInstall: level >= INSTALL,
		/** Whether plugins can be made global. */
		isRoot: level >= ROOT,
	};
}
