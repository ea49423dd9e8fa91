import * as z from "zod";
import { forbidden } from "../../http/errors.ts";
import { documentAs } from "../../http/router.ts";

/** The levels of a membership (docs/organizations.md#levels). */
export const MEMBER = 1;
export const ADMIN = 8;
export const OWNER = 15;
export const LEVELS = [MEMBER, ADMIN, OWNER] as const;
export const LEVEL_NAMES: Record<string, number> = { member: MEMBER, admin: ADMIN, owner: OWNER };

/** The schema of a membership's level in a response. */
export const level = () => documentAs(z.int(), z.literal(LEVELS));

/** The values of `plugins_access_level` (docs/plugins.md#access). */
export const PLUGINS_CONFIG = 3;
export const PLUGINS_INSTALL = 6;
export const PLUGINS_ROOT = 9;

/** The schema of an organization's `plugins_access_level` in a response; 0 is no access. */
export const pluginsAccessLevel = () =>
	documentAs(z.int(), z.literal([0, PLUGINS_CONFIG, PLUGINS_INSTALL, PLUGINS_ROOT]));

/** 403: the membership's level is too low (docs/organizations.md#levels). */
export const insufficientLevel = () => forbidden("Your organization access level is insufficient.");
