import * as z from "zod";

/** An issue that carries its own code: `http/valid.ts` answers it as it stands. */
export const issue = (input: unknown, code: string, message: string) =>
	({ code: "custom", input, message, params: { code } }) as const;

/** What no database can keep of a text, if anything. */
export const flaw = (text: string) =>
	text.includes("\0")
		? "Null characters are not allowed."
		: text.isWellFormed()
			? undefined
			: "Lone surrogates are not allowed.";

/** As much of a value as an answer repeats, in characters. */
const MOST_QUOTED = 100;

/** That a value is none of those that may be chosen. */
export function noChoice(value: unknown) {
	const said =
		typeof value === "object" ? JSON.stringify(value) : String(value);
	const quoted =
		said.length > MOST_QUOTED
			? `${said.slice(0, MOST_QUOTED).toWellFormed()}…`
			: said;
	return `"${quoted}" is not a valid choice.`;
}

/** Trimmed text of at most `max` characters (code points, as JSON Schema counts them). */
export const text = (max?: number) => {
	const shape = z
		.string()
		.trim()
		.check(({ value, issues }) => {
			const why = flaw(value);
			if (why) issues.push(issue(value, "invalid_input", why));
			if (max !== undefined && value.length > max && [...value].length > max)
				issues.push(
					issue(
						value,
						"max_length",
						`Ensure this field has no more than ${max} characters.`,
					),
				);
		});
	return max === undefined ? shape : shape.meta({ maxLength: max });
};

/** Text that says something. */
export const name = (max: number) => text(max).min(1);

/** At most 64 characters before the `@` (RFC 5321, section 4.5.3.1.1), and labels that end as they begin. */
const EMAIL =
	/^(?=[^@]{1,64}@)(?:[A-Za-z0-9_'+-]+\.)*[A-Za-z0-9_'+-]*[A-Za-z0-9_+-]@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z]{2,63}$/;

/** An address, in lower case. */
export const email = () =>
	text(254)
		.min(1)
		.toLowerCase()
		.pipe(z.email({ pattern: EMAIL }))
		.meta({ maxLength: 254 });

/** A UUID of any version, in lower case. */
export const uuid = () => z.string().trim().toLowerCase().pipe(z.guid());

/** At most `max` values of `item`, each once. */
export const set = <T extends z.ZodType>(item: T, max: number) =>
	z
		.array(item)
		.max(max)
		.overwrite((list) => [...new Set(list)]);

const words: Record<string, boolean> = {
	true: true,
	1: true,
	yes: true,
	on: true,
	false: false,
	0: false,
	no: false,
	off: false,
};

/** true, false, or one of the strings that mean them (behaviour 1.3). */
export const boolean = () =>
	z.preprocess(
		(value) =>
			typeof value === "string"
				? (words[value.trim().toLowerCase()] ?? value)
				: value,
		z.boolean(),
	);

/** One of `values`, trimmed as any text is. */
export const choice = <const T extends string>(values: readonly T[]) =>
	z.preprocess(
		(value) => (typeof value === "string" ? value.trim() : value),
		z.enum(values),
	);

/** An answer's moment, `YYYY-MM-DDTHH:MM:SS.sssZ`. */
export const timestamp = () => z.iso.datetime({ precision: 3 });

const iso = z.union([
	z.iso.datetime({ offset: true, local: true }),
	z.iso.date(),
]);

/** ISO 8601 as a date, UTC unless it says otherwise; undefined: it isn't that, or has no year of four digits from 1 on. */
function read(value: string) {
	// First of all this, which bounds the length of what is looked at further.
	if (!iso.safeParse(value).success) return undefined;
	const naive = /T[^Z+-]*$/i.test(value);
	const at = new Date(naive ? `${value}Z` : value);
	const year = at.getUTCFullYear();
	return year >= 1 && year <= 9999 ? at.toISOString() : undefined;
}

/** A request's moment, read as `timestamp`. */
export const moment = () =>
	z
		.string()
		.trim()
		.transform((value, context) => {
			const at = read(value);
			if (at !== undefined) return at;
			context.issues.push(
				issue(
					value,
					"invalid_input",
					"Datetime has wrong format. Use ISO 8601.",
				),
			);
			return z.NEVER;
		})
		.pipe(timestamp());
