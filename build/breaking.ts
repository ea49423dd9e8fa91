/** Says which changes of docs/contract.txt would break clients. */
import { readFileSync } from "node:fs";
import { textBefore } from "./files.ts";

const CONTRACT = "docs/contract.txt";

/**
 * The meaning of a line about an operation or a field. Alternatives with fields of the same name
 * have several lines.
 */
type Contract = Map<string, { rest: string[]; isOptional: boolean }>;

/**
 * A line: an operation and perhaps its parameter or a field of its body, or a field of a schema;
 * then what it is.
 */
const LINE =
	/^([A-Z]+ \/\S*(?: (?:path|query|body|[a-z]+\/[a-z-]+)(?:[.[]\S+)?(?= ))?|\S+) (.+?)( optional)?$/;

function parse(text: string) {
	const contract: Contract = new Map();
	for (const line of text.split("\n")) {
		const [, subject = "", rest = "", optional] = LINE.exec(line) ?? [];
		const known = contract.get(subject);
		contract.set(subject, {
			rest: [...(known?.rest ?? []), ...rest.split("|")],
			isOptional: known?.isOptional || optional !== undefined,
		});
	}
	return contract;
}

const isOperation = (subject: string) => /^[A-Z]+ \/\S*$/.test(subject);

/** Returns what a line belongs to: the operation, or the name of the schema. */
const ownerOf = (subject: string) =>
	/^[A-Z]+ \/\S*/.exec(subject)?.[0] ?? subject.split(/[.[]/)[0] ?? "";

/** Returns the schemas that the given lines use, and those that these use. */
function schemasIn(contract: Contract, startsHere: (subject: string) => boolean) {
	const byOwner = Map.groupBy(contract.keys(), ownerOf);
	const names = new Set<string>();
	const add = (subjects: string[]) => {
		const types = subjects.flatMap((subject) => contract.get(subject)?.rest ?? []).join(" ");
		for (const [name] of types.matchAll(/\b[A-Z]\w+/g))
			if (contract.has(name) && !names.has(name)) {
				names.add(name);
				add(byOwner.get(name) ?? []);
			}
	};
	add([...contract.keys()].filter(startsHere));
	return names;
}

const isWithin = (part: string[], whole: string[]) => part.every((one) => whole.includes(one));

/**
 * Returns the differences that break a client that was written for the contract `before`, in words.
 */
export function breakingChanges(before: string, after: string): string[] {
	const [old, now] = [parse(before), parse(after)];
	const sent = schemasIn(old, (subject) => / /.test(subject) && !isOperation(subject));
	const received = schemasIn(old, isOperation);
	const isSent = (subject: string) => subject.includes(" ") || sent.has(ownerOf(subject));
	const isReceived = (subject: string) => !subject.includes(" ") && received.has(ownerOf(subject));

	const changed = [...old].flatMap(([subject, { rest, isOptional }]) => {
		const owner = ownerOf(subject);
		if (subject === "version" || (subject !== owner && !now.has(owner))) return [];
		const found = now.get(subject);
		if (!found) return [`${subject} was removed.`];
		const words = `${subject} was ${rest.join("|")} and is now ${found.rest.join("|")}.`;
		if (isOperation(subject)) return rest.join() === found.rest.join() ? [] : [words];
		return [
			...((isSent(subject) && !isWithin(rest, found.rest)) ||
			(isReceived(subject) && !isWithin(found.rest, rest))
				? [words]
				: []),
			...(isSent(subject) && isOptional && !found.isOptional
				? [`${subject} was optional and is now required.`]
				: []),
			...(isReceived(subject) && !isOptional && found.isOptional
				? [`${subject} was always there and is now optional.`]
				: []),
		];
	});
	const added = [...now]
		.filter(
			([subject, { isOptional }]) =>
				!isOptional && !old.has(subject) && old.has(ownerOf(subject)) && isSent(subject),
		)
		// Parts of a new field are required only if the field itself is there.
		.filter(([subject]) => old.has(subject.replace(/(?:\[\])?\.[^.\s]+$/, "")))
		.map(([subject]) => `${subject} is new and required.`);
	return [...changed, ...added];
}

/** Returns the changes since this branch left `main` that break clients. */
export function changesSinceMain() {
	const before = textBefore(CONTRACT);
	return before === undefined ? [] : breakingChanges(before, readFileSync(CONTRACT, "utf8"));
}
