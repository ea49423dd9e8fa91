import {
	ACCESS_LEVELS,
	type AccessLevel,
	ADMIN,
	BY_DEFAULT,
	insufficientLevel,
	nameOfAccess,
	RESOURCES_WITH_OBJECTS,
	type Resource,
} from "../db/schema/levels.ts";
import { type ApiError, forbidden, notFound } from "../http/errors.ts";
import {
	ADMIN_LEVELS,
	type Controls,
	isOpened,
	levelOf,
	mayViewAll,
	parseLevels,
	within,
} from "./access_levels.ts";

/** What the guard's row says about the caller's access. */
type Row = {
	own_access: string | null;
	everyone_access: string | null;
	project_id: number | null;
	access_control: boolean | null;
	/** The level of the membership. */
	level: number | null;
	project_level: number | null;
	object: string | null;
};

/** The caller's access below the levels. */
export type Access = {
	controls: Controls;
	/** To the project in the path; `BY_DEFAULT` without one. */
	project: number;
};

/** Returns the access of a caller with this level. */
export function accessOf(row: Row, level: number): Access {
	const given = { own: parseLevels(row.own_access), everyone: parseLevels(row.everyone_access) };
	// Also of an admin of the project.
	const isExcluded = given.own[`project:${row.project_id}`] === ACCESS_LEVELS.none;
	const isAdmin = level >= ADMIN && !(isExcluded && (row.level ?? 0) < ADMIN);
	const controls = isAdmin ? { own: ADMIN_LEVELS, everyone: {} } : given;
	if (row.project_id === null) return { controls, project: BY_DEFAULT };
	const privacy = {
		isPrivate: row.access_control === true,
		isProjectMember: row.project_level !== null,
	};
	const project = { resource: "project" as const, id: String(row.project_id), privacy };
	return { controls, project: levelOf(controls, project) };
}

/** Whether the project in the path is hidden because it is private, not by an access control. */
export const isPrivate = (row: Row, { controls: { own } }: Access) =>
	row.access_control === true &&
	row.project_level === null &&
	own[`project:${row.project_id}`] === undefined;

/** What a route requires. */
type Route = {
	/** undefined: access controls aren't about it. */
	resource: Resource | undefined;
	need: AccessLevel;
	/** The level of the membership; 0 for any. */
	level: number;
};

/** 403: says which access is needed, and who can give it. */
export const accessNeeded = (resource: Resource, need: AccessLevel, level: number) =>
	forbidden(
		`This requires the access level ${need} to ${resource}; yours is ${nameOfAccess(level)}. An admin of the organization can change it.`,
	);

/** Whether a level suffices for a route. Those who have it by default may also delete. */
const suffices = (level: number, need: AccessLevel) =>
	level >= Math.min(ACCESS_LEVELS[need], BY_DEFAULT);

/** Reads the object that the guard has looked up; its id is null without one. */
function objectOf({ object }: Row) {
	const [id, project]: [string | null, number | null] =
		object === null ? [null, null] : JSON.parse(object);
	return { id, project: project ?? BY_DEFAULT };
}

/**
 * Checks the level and the access that a route requires.
 * @param isNamed whether the path names an object that access controls can be about
 * @returns the error to throw: a 403, or a 404 for an object that the caller may not view
 */
export function checkAccess(
	{ resource, need, level: required }: Route,
	row: Row,
	{ level, isNamed, controls, project }: Access & { level: number; isNamed: boolean },
): ApiError | undefined {
	const isTooLow = level < required;
	if (!resource) {
		const isOpen = required === ADMIN && need === "viewer" && mayViewAll(controls);
		return isTooLow && !isOpen ? insufficientLevel() : undefined;
	}
	const found = objectOf(row);
	const opens = (id: string | null) =>
		required === ADMIN && isOpened(controls, { resource, id, need: ACCESS_LEVELS[need] });
	const own = levelOf(controls, { resource, id: found.id });
	// Whoever has access to other objects isn't told that this one exists.
	if (isTooLow && found.id !== null && own === ACCESS_LEVELS.none && opens(null)) return notFound();
	if (isTooLow && !opens(found.id)) return insufficientLevel();
	// Without access controls, and for admins, the object isn't looked up.
	const isMissing = isNamed && found.id === null && row.everyone_access !== null && level < ADMIN;
	if (isMissing) return notFound();
	const isProject = resource === "project" && row.project_id !== null;
	const access = isProject ? project : within(project, within(found.project, own));
	// A list leaves out what the caller may not view.
	const isList = !isNamed && !isProject && need === "viewer" && hasObjects(resource);
	if (isList) return undefined;
	if (access === ACCESS_LEVELS.none && isNamed) return notFound();
	return suffices(access, need) ? undefined : accessNeeded(resource, need, access);
}

const hasObjects = (resource: Resource) => RESOURCES_WITH_OBJECTS.some((one) => one === resource);
