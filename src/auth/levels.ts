import { forbidden } from "../http/errors.ts";

/** Levels of a membership (behaviour 3). */
export const MEMBER = 1;
export const ADMIN = 8;
export const OWNER = 15;
export const LEVELS = [MEMBER, ADMIN, OWNER] as const;

/** What an organization may do with plugins, by its `plugins_access_level` (behaviour 9). */
export const PLUGINS_CONFIG = 3;
export const PLUGINS_INSTALL = 6;
export const PLUGINS_ROOT = 9;

/** `INSUF` of behaviour 3. */
export const insufficient = () =>
	forbidden("Your organization access level is insufficient.");
