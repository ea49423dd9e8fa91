import { expect, test } from "vitest";
import * as z from "zod";
import { schemaOf, undescribed } from "../../build/openapi/schemas.ts";
import { explain } from "../../src/http/fields.ts";
import { documentAs, noContent, ok, paginated } from "../../src/http/router.ts";

const Part = z.object({ name: z.string().describe("The part's name.") }).meta({ id: "Part" });

const Thing = z.object({
	kind: explain(z.enum(["big", "small"]), "How large it is.", { big: "large.", small: "tiny." }),
	level: documentAs(z.int(), z.literal([1, 8])).describe("Its level."),
	part: Part.describe("Its main part."),
	parts: z.array(Part).nullable().describe("What it is made of; null if unknown."),
});

/** Never called; the compiler checks it. */
export function rejected() {
	// @ts-expect-error a value has no text
	explain(z.enum(["big", "small"]), "How large it is.", { big: "large." });
	// @ts-expect-error there is no such value
	explain(z.enum(["big"]).nullable(), "How large it is.", { big: "large.", huge: "too large." });
	// @ts-expect-error an operation has no text
	ok(Thing);
	// @ts-expect-error an operation has no summary
	noContent({ id: "deleteThing", description: "Deletes it." });
	// @ts-expect-error a list has no text
	paginated(Thing);
}

/** Returns the descriptions in a schema by field. */
const descriptionsIn = (shape: z.ZodType) =>
	Object.fromEntries(
		Object.entries<{ description?: string }>(Object(schemaOf(shape).properties)).map(
			([name, { description }]) => [name, description],
		),
	);

const TEXTS = {
	kind: "How large it is.\n\n- `big`: large.\n- `small`: tiny.",
	level: "Its level.",
	part: "Its main part.",
	parts: "What it is made of; null if unknown.",
};

test("a field keeps its description in the shapes that are made from its shape", () => {
	const note = z.string().describe("A note.");
	expect(descriptionsIn(Thing)).toEqual(TEXTS);
	expect(descriptionsIn(Thing.partial().extend({ note }))).toEqual({ ...TEXTS, note: "A note." });
	const { kind, level } = Thing.shape;
	expect(descriptionsIn(z.object({ kind: kind.describe("Another sentence."), level }))).toEqual({
		kind: "Another sentence.",
		level: "Its level.",
	});
});

test("a field that is another component refers to it, and a documented type stays one", () => {
	expect(schemaOf(Thing).properties).toMatchObject({
		level: { enum: [1, 8], description: "Its level." },
		part: { $ref: "#/components/schemas/Part", description: "Its main part." },
	});
});

test("fields without a description are named, however deep they are", () => {
	const inner = z.object({ seen: z.string().describe("Seen."), unseen: z.string() });
	const shape = Thing.extend({ size: z.int(), list: z.array(inner).describe("A list.") });
	expect(undescribed(schemaOf(shape), "Thing")).toEqual(["Thing.size", "Thing.list.unseen"]);
	expect(undescribed(schemaOf(Thing), "Thing")).toEqual([]);
});
