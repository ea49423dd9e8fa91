/** The operations that services are compared by. */

export const OPERATIONS = ["list", "domain", "invite"] as const;

export type Operation = (typeof OPERATIONS)[number];

/** What the table calls them. */
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

/** What an operation answered: how many objects there are, and the addresses or domains of those that it returned. */
export type Answer = { count: number; names: string[] };

let invited = 0;

/** An address that was not invited yet. */
export function newEmail() {
	invited += 1;
	// With as many digits each time, so that answers have as many bytes.
	return `invited-${String(invited).padStart(6, "0")}@example.org`;
}

/** A running service. */
export type Service = {
	/** Of its peer in bench/peers; "tenantry" for this service. */
	name: string;
	url: URL;
	/** The request of an operation; null if the service has none like it. Each call invites another address. */
	call: (operation: Operation) => Call | null;
	/** Reads a response. */
	read: (operation: Operation, body: unknown) => Answer;
	/** Seconds of CPU time that all of its processes have used so far. */
	cpu: () => number;
	/** Deletes the invites. */
	reset: () => Promise<unknown>;
	/** Whether requests can ask what they cost, which only workers can. */
	counts: boolean;
	stop: () => Promise<unknown>;
};
