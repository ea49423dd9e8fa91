import { text } from "../../ui/form.tsx";

/** Returns the lines of a field that aren't empty. */
export const linesIn = (fields: FormData, name: string) =>
	text(fields, name)
		.split("\n")
		.map((line) => line.trim())
		.filter((line) => line !== "");
