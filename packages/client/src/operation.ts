/** An operation, as the client knows it. */
export type Operation = {
	verb: string;
	/** The path, with its parameters in braces. */
	path: string;
	/** Whether calls have a body, after the parameters. */
	hasBody?: true;
	/** Whether the response is a page of a list. */
	isList?: true;
	/** Whether the response is a file, whose bytes the caller reads. */
	isFile?: true;
	/** The names of its query parameters, except those of all lists. */
	query?: string[];
	/** Whether the service ignores `Idempotency-Key`, so that the call isn't repeated. */
	ignoresIdempotencyKey?: true;
};
