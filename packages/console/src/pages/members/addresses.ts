import { type Said, sheetIn } from "./spreadsheet.ts";

/** A person to invite, with what the row of a spreadsheet says. */
type Invitee = { email: string; first_name: string; said?: Said };

export type Addresses = {
	invitees: Invitee[];
	/** What is wrong: parts of the text that aren't email addresses, and rows of a spreadsheet. */
	problems: string[];
	/** The header of a spreadsheet; undefined if the text has none. */
	header: string | undefined;
	/** The titles of its columns that aren't used. */
	ignored: string[];
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

/** Returns an address without the marks that people put around it. */
const cleaned = (written: string) =>
	written
		.trim()
		.replace(/^(mailto:|[([{'])+/i, "")
		.replace(/(?<![)\]}'.:])[)\]}'.:]+$/, "")
		.toLowerCase();

/** Collects people by their addresses. */
function collector() {
	const invitees = new Map<string, Invitee>();
	const unknown = new Set<string>();
	let repeated = 0;
	return {
		unknown,
		add(written: string, name = "", said?: Said) {
			const email = cleaned(written);
			if (!ADDRESS.test(email)) unknown.add(written.trim());
			else if (invitees.has(email)) repeated += 1;
			else invitees.set(email, { email, first_name: firstName(name), ...(said && { said }) });
		},
		addresses: () => ({
			invitees: [...invitees.values()],
			problems: [...unknown].map((part) => `“${part}” isn't an email address.`),
			header: undefined,
			ignored: [],
			repeated,
		}),
	};
}

/**
 * Returns the people in a pasted text: the rows of a spreadsheet with a header, or email addresses
 * separated by line breaks, commas, semicolons or spaces, with or without names (`Name <address>`).
 * @param projects the private projects that a spreadsheet can name
 */
export function addressesIn(text: string, projects: Parameters<typeof sheetIn>[1] = []): Addresses {
	const { unknown, add, addresses } = collector();
	const sheet = sheetIn(text, projects);
	if (sheet) {
		const { header, ignored } = sheet;
		for (const { email, name, said } of sheet.rows) add(email, name, said);
		const found = addresses();
		return { ...found, header, ignored, problems: [...found.problems, ...sheet.problems] };
	}
	/** Words that may be a name before an address in angle brackets. */
	let words: string[] = [];

	function dropWords() {
		const rest = words.filter((word) => word !== ",");
		if (rest.length > 0) unknown.add(rest.join(" "));
		words = [];
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
	return addresses();
}
