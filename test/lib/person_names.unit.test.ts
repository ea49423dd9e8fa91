import { expect, test } from "vitest";
import { namesOf } from "../../src/lib/person_names.ts";

test.each([
	[{ first: "Ada", last: "Lovelace", full: "Countess" }, "Ada", "Lovelace"],
	[{ first: "Ada", full: "Countess of Lovelace" }, "Ada", ""],
	[{ full: "Ada" }, "Ada", ""],
	[{ full: " Ada  King Lovelace " }, "Ada", "King Lovelace"],
	[{ first: "", last: null, full: "Lovelace, Ada King" }, "Ada King", "Lovelace"],
	[{ full: "Lovelace, Ada, Countess" }, "Lovelace,", "Ada, Countess"],
	[{ full: "Lovelace," }, "Lovelace,", ""],
	[{ full: "ada@example.com" }, "", ""],
	[{ first: 7, last: ["x"], full: { a: 1 } }, "", ""],
	[{}, "", ""],
])("a provider that says %j means the names %j and %j", (said, first_name, last_name) => {
	expect(namesOf(said)).toEqual({ first_name, last_name });
});
