/** A person to invite. */
type Invitee = { email: string; first_name: string };

export type Addresses = {
	invitees: Invitee[];
	/** Parts of the text that aren't email addresses. */
	unknown: string[];
	/** The number of repeated addresses. */
	repeated: number;
};

/** Distinguishes addresses from other words. The API validates them. */
const ADDRESS = /^[^\s@]+@[^\s@]+\.[^\s@.]+$/;

/** The maximum length of an invite's first name. */
const MAX_NAME = 30;

/** Quoted text, an address in angle brackets, a separator, or a word. */
const TOKEN = /"([^"\n]*)"?|<([^<>\n]*)>?|([,;\n])|([^\s,;<>"]+)/g;

/** Returns the first name: "Grace" in "Grace Hopper" and "Hopper, Grace". */
const firstName = (name: string) =>
	(/,(.+)/.exec(name)?.[1] ?? name).trim().split(/\s+/)[0]?.slice(0, MAX_NAME) ?? "";

/**
 * Returns the email addresses in a pasted text, separated by line breaks, commas, semicolons or
 * spaces, with or without names (`Name <address>`).
 */
export function addressesIn(text: string): Addresses {
	const invitees = new Map<string, Invitee>();
	const unknown = new Set<string>();
	let repeated = 0;
	/** Words that may be a name before an address in angle brackets. */
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
			.replace(/(?<![)\]}'.:])[)\]}'.:]+$/, "")
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
		// A comma can be part of a name: Hopper, Grace <grace@example.com>.
		else if (separator === ",") words.push(",");
		else dropWords();
	}
	dropWords();
	return { invitees: [...invitees.values()], unknown: [...unknown], repeated };
}
