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

/** What access can be given to (docs/access.md). */
export const RESOURCES = [
	"project",
	"batch_export",
	"plugin",
	"webhook",
	"domain",
	"organization_member",
	"activity_log",
] as const;
export type Resource = (typeof RESOURCES)[number];

/** The resources of which access can also be given to a single object. */
export const RESOURCES_WITH_OBJECTS = [
	"project",
	"batch_export",
	"plugin",
	"webhook",
	"domain",
] as const satisfies Resource[];

/** The levels of access, from the lowest, as they are stored. */
export const ACCESS_LEVELS = { none: 0, viewer: 1, editor: 2, manager: 4 } as const;
export type AccessLevel = keyof typeof ACCESS_LEVELS;

/**
 * The access of a member whom no access control is about: an editor who may also delete, as everybody
 * could before there were any (docs/internals/decisions/0020-access.md).
 */
export const BY_DEFAULT = 3;

/** The name of a stored level; by default, members are editors. */
export function nameOfAccess(level: number): AccessLevel {
	if (level >= ACCESS_LEVELS.manager) return "manager";
	if (level >= ACCESS_LEVELS.editor) return "editor";
	return level >= ACCESS_LEVELS.viewer ? "viewer" : "none";
}
