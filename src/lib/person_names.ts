const text = (value: unknown) => (typeof value === "string" ? value.trim() : "");

/**
 * Returns what somebody is called, from what a provider says, of whatever type. Some providers say
 * only the full name: its first word is the first name, or what follows a comma.
 */
export function namesOf(said: { first?: unknown; last?: unknown; full?: unknown }) {
	const first_name = text(said.first);
	const last_name = text(said.last);
	const full = text(said.full);
	// Some send the address as the name.
	if (first_name || last_name || full.includes("@")) return { first_name, last_name };
	const [before = "", after, ...more] = full.split(",").map((part) => part.trim());
	if (before && after && more.length === 0) return { first_name: after, last_name: before };
	const [first = "", ...rest] = full.split(/\s+/);
	return { first_name: first, last_name: rest.join(" ") };
}
