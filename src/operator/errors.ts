/** An error that the operator can correct, such as an unknown email address or id. */
export class OperatorError extends Error {}

export const DEACTIVATED = "The user with this email address is deactivated.";

/** Returns the row. Throws OperatorError if there is none. */
export function required<T>(row: T | undefined, what: string): T {
	if (row === undefined) throw new OperatorError(`There is no ${what}.`);
	return row;
}
