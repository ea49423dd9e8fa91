import { and, eq, inArray, sql } from "drizzle-orm";
import type * as z from "zod";
import { readPage } from "../../access/pages.ts";
import type { Tenant } from "../../access/tenant.ts";
import { retry } from "../../access/unit_of_work.ts";
import { currentOrganization, selectCaller } from "../../access/visible.ts";
import { assertExists } from "../../db/client.ts";
import type { ActivityOf } from "../../db/event_types.ts";
import { countWhere } from "../../db/list.ts";
import { passkeys, signIns, twoFactors } from "../../db/schema/sign_in.ts";
import { orNotFound } from "../../http/errors.ts";
import type { Page } from "../../http/page.ts";
import { isEnforced } from "../../people/identities/sign_in_rules.ts";
import * as sessions from "../../people/personal_api_keys/sessions.ts";
import { mailCaller, passkeyRemoved } from "../../people/users/mails.ts";
import {
	entriesOf,
	factorIsRequired,
	otherSessions,
	readAndProve,
	removeFactor,
} from "../totp/caller.ts";
import {
	type Factor,
	type Given,
	hasAsManyPasskeys,
	isUnused,
	proofRequired,
	useProof,
} from "../totp/proof.ts";
import type { update as Update } from "./shape.ts";

const { id, name, transports, is_backed_up, created_at, last_used_at } = passkeys;

const columns = { id, name, transports, is_backed_up, created_at, last_used_at };

export const select = ({ db }: Tenant) => db.select(columns).from(passkeys);

type Row = Awaited<ReturnType<typeof select>>[number];

/** SQL condition: the passkey is the caller's, if `uuid` is, too. */
export const isTheirs = (tenant: Tenant, uuid: string) =>
	inArray(passkeys.user_id, selectCaller(tenant, uuid));

const byId = (tenant: Tenant, uuid: string, id: string) =>
	and(isTheirs(tenant, uuid), eq(passkeys.id, id.toLowerCase()));

/** Newest first. Throws 404 if `uuid` is somebody else's. */
export function list(tenant: Tenant, uuid: string, page: Page) {
	const where = isTheirs(tenant, uuid);
	return readPage(tenant, page, {
		parent: selectCaller(tenant, uuid),
		select: () => select(tenant).$dynamic(),
		where,
		by: [passkeys.id],
		keys: ({ id }) => [id],
		total: countWhere(passkeys, where),
	});
}

export const find = (tenant: Tenant, uuid: string, id: string) =>
	tenant.find(select(tenant).where(byId(tenant, uuid, id)));

export const entry = <A extends ActivityOf<"Passkey">>(
	{ key }: Tenant,
	activity: A,
	{ id, name }: Pick<Row, "id" | "name">,
) => ({
	activity,
	scope: "Passkey" as const,
	item_id: id,
	name,
	organization: currentOrganization(key.user_id),
});

export async function rename(
	tenant: Tenant,
	{ uuid, id }: { uuid: string; id: string },
	body: z.infer<typeof Update>,
) {
	const row = await find(tenant, uuid, id);
	const isThis = byId(tenant, uuid, id);
	const updated = { ...entry(tenant, "updated", row), name: body.name ?? row.name };
	return tenant.patch(row, body, updated, () => ({
		changes: [tenant.db.update(passkeys).set(body).where(isThis)],
		answer: select(tenant).where(isThis),
	}));
}

/**
 * Removes a passkey, and ends the caller's other sessions. Removes the second factor if it was the
 * last one.
 * @throws 404, or 400 if the proof is wrong, or if an organization requires a second factor and the
 * passkey is the last one
 */
export const remove = (tenant: Tenant, { uuid, id }: { uuid: string; id: string }, given: Given) =>
	retry(async () => {
		const { db } = tenant;
		const find = ({ passkeys }: Factor) =>
			orNotFound(passkeys.find((each) => each.id === id.toLowerCase()));
		const { row, proof, others, areAll } = await readAndProve(tenant, { uuid, given, check: find });
		if (!proof) throw proofRequired();
		const passkey = find(row);
		const hasApp = row.enabled_at !== null;
		const isLast = !hasApp && row.passkeys.length === 1;
		if (isLast && row.is_required) throw factorIsRequired();
		const mayRemove = and(
			isUnused(proof, hasApp),
			hasAsManyPasskeys(row),
			isLast ? sql`not ${isEnforced(row.user_id)}` : undefined,
			areAll,
		);
		const isThis = byId(tenant, uuid, passkey.id);
		await tenant.write({
			checks: [assertExists(db, passkeys, isThis), assertExists(db, twoFactors, mayRemove)],
			changes: [
				...useProof(db, proof),
				db.delete(passkeys).where(isThis),
				...(isLast ? await removeFactor(tenant) : []),
				sessions.remove(db, otherSessions(tenant)),
				// A sign-in with it that isn't completed yet.
				db
					.delete(signIns)
					.where(and(eq(signIns.user_id, row.user_id), eq(signIns.method, "passkey"))),
			],
			entries: [
				{
					...entry(tenant, "deleted", passkey),
					values: { name: passkey.name },
					trigger: { second_factor: proof.kind },
				},
				...entriesOf(others),
			],
		});
		mailCaller(tenant, passkeyRemoved(passkey.name, isLast));
	});
