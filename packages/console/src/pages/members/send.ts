import {
	type CreateInviteBody,
	type NewInvite,
	type Organization,
	TenantryError,
} from "tenantry-client";
import { api } from "../../session.ts";
import { wordsOf } from "../../ui/feedback.tsx";

/** What became of each address. */
export type Outcome = {
	invited: NewInvite[];
	refused: { body: CreateInviteBody; reason: string }[];
};

/** How many invites one request may have. */
const MAX_AT_ONCE = 20;

/** Whether the service refuses one of the addresses, not what all invites have in common. */
const isAboutAddress = ({ status, attr }: TenantryError) =>
	status === 400 && (attr === null || /^\d+__(target_email|first_name)$/.test(attr));

/** The fields that all invites have in common, and the form too. */
const COMMON = ["level", "message"];

/** The error with the name of the form's field: that of a list names the first invite's. */
function asOfForm({ type, code, detail, attr, status, headers }: TenantryError) {
	const field = attr?.replace(/^\d+__/, "") ?? "";
	const shownAt = COMMON.includes(field) ? field : null;
	return new TenantryError({ type, code, detail, attr: shownAt, status, headers });
}

/**
 * Invites everybody who can be invited. The service takes a list as a whole or not at all, so
 * a list that it refuses is sent again one by one.
 * @throws {TenantryError} if nobody was invited, for a reason that isn't about an address
 */
export async function sendInvites(
	{ id: organization }: Pick<Organization, "id">,
	bodies: CreateInviteBody[],
): Promise<Outcome> {
	const outcome: Outcome = { invited: [], refused: [] };
	async function sendOne(body: CreateInviteBody) {
		try {
			outcome.invited.push(await api.invites.create({ organization }, body));
		} catch (error) {
			outcome.refused.push({ body, reason: wordsOf(error) });
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
				outcome.refused.push(...bodies.slice(start).map((body) => ({ body, reason })));
				break;
			}
		}
	}
	return outcome;
}
