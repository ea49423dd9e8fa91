/** A decimal number: `digits`, which neither begin nor end with 0, times ten to the `power`. */
export type Decimal = { sign: "" | "-"; digits: string; power: number };

/** Larger exponents are no numbers of any use, and writing them out would take too much memory. */
const NUMBER =
	/^[ \t-\r]*([+-]?)(?:([0-9]+)(?:[.]([0-9]*))?|[.]([0-9]+))(?:[eE]([+-]?[0-9]{1,7}))?[ \t-\r]*$/;

/** Reads a decimal number; undefined if the text isn't one. `digits` is empty for 0. */
export function readDecimal(text: string): Decimal | undefined {
	const [match, sign, whole = "", after, bare = "", exponent = "0"] = NUMBER.exec(text) ?? [];
	if (match === undefined) return undefined;
	const fraction = after ?? bare;
	const all = (whole + fraction).replace(/^0+/, "");
	const digits = all.replace(/(?<!0)0+$/, "");
	const power = Number(exponent) - fraction.length + all.length - digits.length;
	return { sign: sign === "-" ? "-" : "", digits, power: digits === "" ? 0 : power };
}

/** Writes a decimal number without an exponent. */
export function plainDecimal({ sign, digits, power }: Decimal): string {
	if (digits === "") return "0";
	const point = digits.length + power;
	if (power >= 0) return `${sign}${digits}${"0".repeat(power)}`;
	if (point > 0) return `${sign}${digits.slice(0, point)}.${digits.slice(point)}`;
	return `${sign}0.${"0".repeat(-point)}${digits}`;
}

/** Whether both are numbers, and equal, digit by digit. */
export const isSameDecimal = (a: Decimal | undefined, b: Decimal | undefined) =>
	a !== undefined &&
	a.digits === b?.digits &&
	a.power === b.power &&
	(a.digits === "" || a.sign === b.sign);
