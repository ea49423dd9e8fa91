import { foreignKey, index, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { created_at, id, list, map } from "./columns.ts";
import { serviceAccounts } from "./service_accounts.ts";

/**
 * Whose tokens are exchanged for keys of a service account (docs/oauth.md#jobs-without-keys). These
 * keys have the id of the row as `client_id`.
 */
export const trustedIssuers = sqliteTable(
	"trusted_issuers",
	{
		id: id(),
		organization_id: integer().notNull(),
		service_account_id: text().notNull(),
		name: text().notNull(),
		issuer: text().notNull(),
		audience: text().notNull(),
		subject: text().notNull(),
		claims: map<Record<string, string>>().default({}),
		scopes: list<string>(),
		scoped_projects: list<number>(),
		created_at: created_at(),
		/** When a token was last exchanged, to within an hour. */
		last_used_at: text(),
	},
	(t) => [
		index("trusted_issuers_account").on(t.organization_id, t.service_account_id, t.id),
		foreignKey({
			columns: [t.organization_id, t.service_account_id],
			foreignColumns: [serviceAccounts.organization_id, serviceAccounts.id],
		}).onDelete("cascade"),
	],
);
