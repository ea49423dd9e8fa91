import { quote } from "./quote.ts";
import { type Answer, addressOf } from "./send.ts";

/** The text of an element, on one line; "": there is none. */
export const elementOf = (name: string, xml: string) =>
	new RegExp(`<${name}>([^<]*)`).exec(xml)?.[1]?.replace(/\s+/g, " ").trim() ??
	"";

/** Who answered what, in a sentence for the user: without secrets. */
export function describe(
	url: URL,
	{ status }: Answer,
	words: string[],
	secrets: string[],
) {
	const message = words.filter(Boolean).join(" ");
	const quoted = message && `: "${quote(secrets, message)}"`;
	return `${addressOf(url)} answered ${status}${quoted || "."}`;
}
