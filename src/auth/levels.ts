import { forbidden } from "../http/errors.ts";

/** Levels of a membership (behaviour 3). */
export const MEMBER = 1;
export const ADMIN = 8;
export const OWNER = 15;
export const LEVELS = [MEMBER, ADMIN, OWNER] as const;

/** `INSUF` of behaviour 3. */
export const insufficient = () =>
	forbidden("Your organization access level is insufficient.");
