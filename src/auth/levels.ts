/** Levels of a membership (behaviour 3). */
export const MEMBER = 1;
export const ADMIN = 8;
export const OWNER = 15;
