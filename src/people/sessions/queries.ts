import { and, eq, gt, isNotNull, sql } from "drizzle-orm";
import type * as z from "zod";
import { readPage } from "../../access/pages.ts";
import type { Tenant } from "../../access/tenant.ts";
import { retry } from "../../access/unit_of_work.ts";
import { selectCaller } from "../../access/visible.ts";
import { assertThat } from "../../db/client.ts";
import { personalApiKeys } from "../../db/schema/personal_api_keys.ts";
import { orNotFound } from "../../http/errors.ts";
import type { Page } from "../../http/page.ts";
import { endKey } from "../../keys/rows.ts";
import { now } from "../../lib/time.ts";
import * as sessions from "../personal_api_keys/sessions.ts";
import type { Session } from "./shape.ts";

const select = ({ db }: Tenant) => db.select().from(personalApiKeys);

type Row = Awaited<ReturnType<typeof select>>[number];

/** WHERE clause: the caller's sessions that haven't expired. */
const isOwn = ({ key }: Tenant) =>
	and(
		eq(personalApiKeys.user_id, key.user_id),
		isNotNull(personalApiKeys.session),
		gt(personalApiKeys.expires_at, now()),
	);

const byId = (tenant: Tenant, id: string) =>
	and(isOwn(tenant), eq(personalApiKeys.id, id.toLowerCase()));

const toSession = (
	{ key }: Tenant,
	{ id, created_at, last_used_at, expires_at, session }: Row,
): z.infer<typeof Session> => ({
	...{ id, created_at, last_used_at, expires_at },
	method: session?.method ?? "",
	connection: session?.connection ?? null,
	address: session?.address ?? null,
	user_agent: session?.user_agent ?? null,
	is_current: id === key.id,
});

/** Newest first. Throws 404 if the user isn't the caller. */
export const list = (tenant: Tenant, uuid: string, page: Page) =>
	readPage(tenant, page, {
		parent: selectCaller(tenant, uuid),
		select: () => select(tenant).$dynamic(),
		where: isOwn(tenant),
		by: [personalApiKeys.id],
		keys: ({ id }) => [id],
		total: sql<number>`(select count(*) from ${personalApiKeys} where ${isOwn(tenant)})`,
		to: (row) => toSession(tenant, row),
	});

/** Ends a session, which may be the current one. */
export async function remove(tenant: Tenant, uuid: string, id: string) {
	const [[row], [caller]] = await tenant.read(
		select(tenant).where(byId(tenant, id)),
		selectCaller(tenant, uuid),
	);
	orNotFound(caller);
	const session = orNotFound(row);
	const isThis = byId(tenant, session.id);
	await tenant.write({
		...endKey(tenant.db, isThis, [sessions.endEntry(session, "sessions")]),
		revokes: { type: "session", id: session.id, user: null },
	});
}

/** Ends all sessions of the caller but the current one, also those that begin meanwhile. */
export const removeOthers = (tenant: Tenant, uuid: string) =>
	retry(async () => {
		const { db, key } = tenant;
		const others = { user_id: key.user_id, kept: key.id };
		const [rows, [caller]] = await tenant.read(
			sessions.select(db, others),
			selectCaller(tenant, uuid),
		);
		orNotFound(caller);
		const ids = rows.map(({ id }) => id);
		await tenant.write({
			checks: [assertThat(db, sessions.areAll(others, ids), "is_current")],
			changes: [sessions.remove(db, others)],
			entries: rows.map((row) => sessions.endEntry(row, "sessions")),
		});
	});
