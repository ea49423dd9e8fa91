/** The operations that are measured in all services. */

export const OPERATIONS = ["list", "domain", "invite"] as const;

export type Operation = (typeof OPERATIONS)[number];

/** The names of the operations in the table. */
export const TITLES: Record<Operation, string> = {
	list: "List 50 of 1,000 members",
	domain: "List the only domain",
	invite: "Create an invite",
};

export type Call = {
	method: string;
	path: string;
	headers: Record<string, string>;
	body?: string;
};

/**
 * A response: the total number of objects, and the email addresses or domains of the returned ones.
 */
export type Answer = { count: number; names: string[] };

let invited = 0;

/** Returns an email address that was not invited before. */
export function newEmail() {
	invited += 1;
	// The number of digits is constant, so that responses have the same size.
	return `invited-${String(invited).padStart(6, "0")}@example.org`;
}

/** A running service. */
export type Service = {
	/** The name of its folder in judges/bench/peers; "tenantry" for this service. */
	name: string;
	url: URL;
	/**
	 * Returns the request of an operation; null if the service has no such operation. Each call
	 * invites another address.
	 */
	call: (operation: Operation) => Call | null;
	/** Parses the body of a response. */
	read: (operation: Operation, body: unknown) => Answer;
	/** Returns the CPU time that all its processes have used so far, in seconds. */
	cpu: () => number;
	/** Returns the size of the database, in bytes. Only for workers. */
	size?: () => Promise<number>;
	/** Deletes the invites. */
	reset: () => Promise<unknown>;
	/**
	 * Whether responses can report the cost of the request. Only workers support this
	 * (judges/bench/harness.ts).
	 */
	counts: boolean;
	stop: () => Promise<unknown>;
};
