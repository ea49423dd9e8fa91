import {
	forbidden,
	idempotencyKeyInUse,
	invalid,
	limitReached,
	notFound,
	notSetUp,
	preconditionFailed,
} from "../http/errors.ts";
import { isFailed } from "./client.ts";

/** Whether a write failed because another row has the same value in `column` (`table.column`). */
export const isUniqueViolation = (error: unknown, column: string) =>
	error instanceof Error &&
	/UNIQUE constraint failed: ([\w., ]+)/.exec(error.message)?.[1]?.split(", ").includes(column) ===
		true;

/** Whether a query failed because a table is missing: migrations haven't been applied. */
export const isMissingTable = (error: unknown) =>
	error instanceof Error && /no such table/.test(`${error.message} ${error.cause}`);

/** Returns the response to a database error that a request can cause, else undefined. */
export function fromDatabaseError(error: Error) {
	if (isUniqueViolation(error, "idempotency_keys.key")) return idempotencyKeyInUse();
	const column = /UNIQUE constraint failed: (?:\w+\.\w+, )*(\w+)s\.(\w+)/.exec(error.message);
	if (column?.[1] && column[2])
		return invalid(
			column[2],
			`${column[1].replaceAll("_", " ")} with this ${column[2].replaceAll("_", " ")} already exists.`,
			"unique",
		);
	if (isFailed(error, "has_access")) return forbidden("Your access changed during the request.");
	if (isFailed(error, "is_unchanged")) return preconditionFailed();
	if (isFailed(error, "has_room")) return limitReached();
	// The row or its parent was deleted between this request's read and its write.
	if (isFailed(error, "is_current") || error.message.includes("FOREIGN KEY constraint failed"))
		return notFound();
	return isMissingTable(error) ? notSetUp() : undefined;
}
