/** How much belongs to an object, and is deleted with it (docs/organizations.md#what-a-deletion-takes-along). */
import { type SQL, sql } from "drizzle-orm";
import * as z from "zod";
import type { Tenant } from "../access/tenant.ts";
import type { Statement } from "../db/client.ts";
import { auditStreams } from "../db/schema/audit_streams.ts";
import { batchExports } from "../db/schema/batch_exports.ts";
import { events, persons } from "../db/schema/events.ts";
import { domains, projects } from "../db/schema/organizations.ts";
import { members, projectMembers, serviceAccounts } from "../db/schema/people.ts";
import { pluginConfigs, plugins } from "../db/schema/plugins.ts";
import { webhooks } from "../db/schema/webhooks.ts";
import { orNotFound } from "../http/errors.ts";
import { explain } from "../http/fields.ts";

/** Nothing is counted further than this, so that a count costs the same however much there is. */
const MAX_COUNTED = 1_000;

const KINDS = [
	"project",
	"member",
	"service_account",
	"domain",
	"batch_export",
	"plugin",
	"plugin_config",
	"plugin_config_elsewhere",
	"webhook",
	"audit_stream",
	"event",
	"person",
] as const;

type Kind = (typeof KINDS)[number];

export const Contents = z
	.object({
		items: z
			.array(
				z.object({
					kind: explain(z.enum(KINDS), "What it is.", {
						project: "projects.",
						member: "people with access: members of the organization, or of the project.",
						service_account: "service accounts.",
						domain: "domains.",
						batch_export: "exports.",
						plugin: "plugins.",
						plugin_config: "plugin configs of the organization.",
						plugin_config_elsewhere: "plugin configs of other organizations, for a global plugin.",
						webhook: "webhooks.",
						audit_stream: "audit streams.",
						event: "events that the service stores.",
						person: "persons that the service stores.",
					}),
					count: z.int().describe(`How many; at most ${MAX_COUNTED}.`),
					is_more: z.boolean().describe("Whether there are more than that."),
				}),
			)
			.describe("What there is at least one of."),
	})
	.meta({ id: "Contents" });

/** A statement whose first row has an id, if the object exists. */
type Parent = Statement & { _: { result: { id: unknown }[] } };

/** The rows of each kind: a FROM clause with its condition. */
type Counted = Partial<Record<Kind, SQL>>;

/**
 * Counts the rows of each kind, in one round trip.
 * @param parent selects the object, unless it is the tenant's
 * @throws 404 if the object doesn't exist
 */
export async function count(
	tenant: Tenant,
	of: Counted,
	parent: Parent[] = [],
): Promise<z.infer<typeof Contents>> {
	const counts = Object.entries(of).map(
		([kind, rows]) =>
			sql`${sql.raw(`'${kind}'`)}, (select count(*) from (select 1 from ${rows} limit ${MAX_COUNTED + 1}))`,
	);
	const [[row], ...parents] = await tenant.read(
		tenant.db
			.select({
				counted: sql`json_object(${sql.join(counts, sql`, `)})`
					.mapWith((json): Partial<Record<Kind, number>> => JSON.parse(json))
					.as("counted"),
			})
			.from(sql`(select 1)`),
		...parent,
	);
	for (const [found] of parents) orNotFound(found?.id);
	const counted = row?.counted ?? {};
	return {
		items: KINDS.flatMap((kind) => {
			const found = counted[kind] ?? 0;
			if (found === 0) return [];
			return [{ kind, count: Math.min(found, MAX_COUNTED), is_more: found > MAX_COUNTED }];
		}),
	};
}

/** SQL for the ids of the organization's projects. */
const ownProjects = ({ organization }: Tenant) =>
	sql`(select ${projects.id} from ${projects} where ${projects.organization_id} = ${organization})`;

/** What is deleted with the organization in the path. */
export const ofOrganization = (tenant: Tenant) => {
	const { organization } = tenant;
	const within = ownProjects(tenant);
	return count(tenant, {
		project: sql`${projects} where ${projects.organization_id} = ${organization}`,
		member: sql`${members} where ${members.organization_id} = ${organization} and ${members.is_active}`,
		service_account: sql`${serviceAccounts} where ${serviceAccounts.organization_id} = ${organization}`,
		domain: sql`${domains} where ${domains.organization_id} = ${organization}`,
		batch_export: sql`${batchExports} where ${batchExports.organization_id} = ${organization} and not ${batchExports.deleted} and not ${batchExports.one_off}`,
		plugin: sql`${plugins} where ${plugins.organization_id} = ${organization}`,
		plugin_config: sql`${pluginConfigs} where ${pluginConfigs.project_id} in ${within} and not ${pluginConfigs.deleted}`,
		webhook: sql`${webhooks} where ${webhooks.organization_id} = ${organization}`,
		audit_stream: sql`${auditStreams} where ${auditStreams.organization_id} = ${organization}`,
		event: sql`${events} where ${events.team_id} in ${within}`,
		person: sql`${persons} where ${persons.team_id} in ${within}`,
	});
};

/** What is deleted with the project in the path. */
export const ofProject = (tenant: Tenant) => {
	const { project } = tenant;
	return count(tenant, {
		member: sql`${projectMembers} where ${projectMembers.project_id} = ${project}`,
		batch_export: sql`${batchExports} where ${batchExports.organization_id} = ${tenant.organization} and ${batchExports.project_id} = ${project} and not ${batchExports.deleted} and not ${batchExports.one_off}`,
		plugin_config: sql`${pluginConfigs} where ${pluginConfigs.project_id} = ${project} and not ${pluginConfigs.deleted}`,
		event: sql`${events} where ${events.team_id} = ${project}`,
		person: sql`${persons} where ${persons.team_id} = ${project}`,
	});
};
