/** Somebody to invite. */
export type Invitee = { email: string; first_name: string };

export type Addresses = {
	invitees: Invitee[];
	/** Parts of the text that are no addresses. */
	unknown: string[];
	/** How many addresses are in the text more than once; they count once. */
	repeated: number;
};

/** The service decides. This only tells addresses from other words. */
const ADDRESS = /^[^\s@]+@[^\s@]+\.[^\s@.]+$/;

/** The longest first name that an invite may have. */
const MAX_NAME = 30;

/** A quoted text, an address in angle brackets, a separator, or a word. */
const TOKEN = /"([^"\n]*)"?|<([^<>\n]*)>?|([,;\n])|([^\s,;<>"]+)/g;

/** "Grace Hopper" and "Hopper, Grace" are both Grace. */
const firstName = (name: string) =>
	(/,(.+)/.exec(name)?.[1] ?? name).trim().split(/\s+/)[0]?.slice(0, MAX_NAME) ?? "";

/**
 * Finds the addresses in a pasted text: one on each line, or with commas, semicolons or spaces between
 * them, alone or as `Name <address>`.
 */
export function addressesIn(text: string): Addresses {
	const invitees = new Map<string, Invitee>();
	const unknown = new Set<string>();
	let repeated = 0;
	/** Words that may be the name before an address in angle brackets. */
	let words: string[] = [];

	function dropWords() {
		const rest = words.filter((word) => word !== ",");
		if (rest.length > 0) unknown.add(rest.join(" "));
		words = [];
	}
	function add(written: string, name = "") {
		const email = written
			.trim()
			.replace(/^(mailto:|[([{'])+/i, "")
			.replace(/[)\]}'.:]+$/, "")
			.toLowerCase();
		if (!ADDRESS.test(email)) unknown.add(written.trim());
		else if (invitees.has(email)) repeated += 1;
		else invitees.set(email, { email, first_name: firstName(name) });
	}

	for (const [, quoted, bracketed, separator, word] of text.matchAll(TOKEN)) {
		if (quoted !== undefined) words.push(quoted);
		else if (bracketed !== undefined) {
			const name = words.join(" ");
			words = [];
			add(bracketed, name);
		} else if (word?.includes("@")) {
			dropWords();
			add(word);
		} else if (word !== undefined) words.push(word);
		// A comma may be part of a name: Hopper, Grace <grace@example.com>.
		else if (separator === ",") words.push(",");
		else dropWords();
	}
	dropWords();
	return { invitees: [...invitees.values()], unknown: [...unknown], repeated };
}
