import { ADMIN, OWNER } from "../../db/schema/levels.ts";
import { isReachable, singleLine } from "../../outbound/mail.ts";

export type Person = { first_name: string; last_name: string; email: string };

/** Returns the person's name, or the email address if there is no name. */
export const nameOf = ({ first_name, last_name, email }: Person) =>
	singleLine(`${first_name} ${last_name}`) || email;

/** Returns the name and the email address, which a service account doesn't have. */
export const introduce = (person: Person) => {
	const name = nameOf(person);
	return name === person.email || !isReachable(person.email) ? name : `${name} (${person.email})`;
};

/** Returns the membership level in words. */
export const roleOf = (level: number) =>
	level >= OWNER ? "an owner" : level >= ADMIN ? "an admin" : "a member";
