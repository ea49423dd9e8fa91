import {
	type CreateInviteBody,
	type NewInvite,
	type Organization,
	TenantryError,
} from "tenantry-client";
import { api } from "../../session.ts";
import { wordsOf } from "../../ui/feedback.tsx";

/** The result for each address. */
export type Outcome = {
	invited: NewInvite[];
	rejected: { body: CreateInviteBody; reason: string }[];
};

/** The maximum number of invites in one request. */
const MAX_AT_ONCE = 20;

/** Whether the error is about one address, not about fields that all invites share. */
const isAboutAddress = ({ status, attr }: TenantryError) =>
	status === 400 && (attr === null || /^\d+__(target_email|first_name)$/.test(attr));

/** The fields of the form that all invites share. */
const COMMON = ["level", "message"];

/**
 * Returns the error with the name of the field in the form. The API returns the field of the first
 * invite.
 */
function asOfForm({ type, code, detail, attr, status, headers }: TenantryError) {
	const field = attr?.replace(/^\d+__/, "") ?? "";
	const shownAt = COMMON.includes(field) ? field : null;
	return new TenantryError({ type, code, detail, attr: shownAt, status, headers });
}

/**
 * Invites everyone who can be invited. The API accepts a list only as a whole, so the invites of a
 * rejected list are sent again one by one.
 * @throws {TenantryError} if no one was invited, and the reason isn't an address
 */
export async function sendInvites(
	{ id: organization }: Pick<Organization, "id">,
	bodies: CreateInviteBody[],
): Promise<Outcome> {
	const outcome: Outcome = { invited: [], rejected: [] };
	async function sendOne(body: CreateInviteBody) {
		try {
			outcome.invited.push(await api.invites.create({ organization }, body));
		} catch (error) {
			outcome.rejected.push({ body, reason: wordsOf(error) });
		}
	}
	for (let start = 0; start < bodies.length; start += MAX_AT_ONCE) {
		const some = bodies.slice(start, start + MAX_AT_ONCE);
		try {
			const { results } = await api.invites.createMany({ organization }, some);
			outcome.invited.push(...results);
		} catch (error) {
			if (!(error instanceof TenantryError)) throw error;
			if (isAboutAddress(error)) for (const body of some) await sendOne(body);
			else if (outcome.invited.length === 0) throw asOfForm(error);
			else {
				const reason = wordsOf(error);
				outcome.rejected.push(...bodies.slice(start).map((body) => ({ body, reason })));
				break;
			}
		}
	}
	return outcome;
}
