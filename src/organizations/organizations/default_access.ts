import type { SQL } from "drizzle-orm";
import { v7 } from "uuid";
import type { Database, Statement } from "../../db/client.ts";
import { accessControls } from "../../db/schema/access.ts";
import {
	ACCESS_LEVELS,
	type AccessLevel,
	RESOURCES,
	type Resource,
} from "../../db/schema/levels.ts";
import { applyAccess } from "../../people/memberships.ts";

const isResource = (text: string): text is Resource => RESOURCES.some((one) => one === text);

const isLevel = (text: string): text is AccessLevel => Object.hasOwn(ACCESS_LEVELS, text);

/**
 * Reads `DEFAULT_ACCESS_LEVELS`, such as `batch_export: viewer, webhook: none`.
 * @throws if it isn't a list of different resources with levels
 */
export function parseDefaults(text: string): Map<Resource, AccessLevel> {
	const defaults = new Map<Resource, AccessLevel>();
	for (const pair of text.trim() === "" ? [] : text.split(",")) {
		const [resource = "", level = "", ...rest] = pair.split(":").map((part) => part.trim());
		if (!isResource(resource) || !isLevel(level) || rest.length > 0 || defaults.has(resource))
			throw new Error(
				`DEFAULT_ACCESS_LEVELS has "${pair.trim()}". It must be a list like "batch_export: viewer, webhook: none", with each resource once: ${RESOURCES.join(", ")}; levels: ${Object.keys(ACCESS_LEVELS).join(", ")}.`,
			);
		defaults.set(resource, level);
	}
	return defaults;
}

/** Returns statements that give everyone in a new organization what the operator has set. */
export function giveDefaults(env: Env, db: Database, organization: SQL<number>): Statement[] {
	// `npm start` makes its first organization without variables.
	const defaults = parseDefaults(env.DEFAULT_ACCESS_LEVELS ?? "");
	if (defaults.size === 0) return [];
	const rows = Array.from(defaults, ([resource, level]) => ({
		...{ id: v7(), organization_id: organization, resource },
		access_level: ACCESS_LEVELS[level],
	}));
	return [
		...rows.map((row) => db.insert(accessControls).values(row)),
		...applyAccess(db, organization),
	];
}
