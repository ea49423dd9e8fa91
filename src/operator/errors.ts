/** An error that the operator can correct, such as a wrong address or an unknown id. */
export class OperatorError extends Error {}

export const DEACTIVATED = "The user with this address is deactivated.";

/** @throws OperatorError if there is no row */
export function required<T>(row: T | undefined, what: string): T {
	if (row === undefined) throw new OperatorError(`There is no ${what}.`);
	return row;
}
