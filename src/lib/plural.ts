/** A number and a noun, such as "1 row" or "2 rows". */
export const pluralize = (n: number, noun: string) => `${n} ${noun}${n === 1 ? "" : "s"}`;
