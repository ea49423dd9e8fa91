import { expect, test } from "vitest";
import * as z from "zod";
import { describe, descriptionOfField, type OpenApi } from "../../src/http/openapi.ts";
import { created, ok, router } from "../../src/http/router.ts";

const Thing = z.object({
	id: z.int(),
	kind: z.enum(["big", "small"]),
	parts: z.array(z.object({ name: z.string() })).nullable(),
});
const thing = { id: 1, kind: "big" as const, parts: null };

const routes = router()
	.get("/", ok(Thing), (c) => c.json(thing))
	.post("/:id/copy", created(Thing), (c) => c.json(thing, 201));

const tag = { name: "Things", description: "Things." };
const text = { id: "getThing", summary: "Retrieve a thing", description: "Answers with it." };

/** The compiler checks these. */
export const complete: OpenApi<typeof routes> = {
	tag,
	operations: { "GET /": text, "POST /:id/copy": text },
};
export const incomplete: OpenApi<typeof routes> = {
	tag,
	// @ts-expect-error POST /:id/copy has no text
	operations: { "GET /": text },
};
export const stale: OpenApi<typeof routes> = {
	tag,
	operations: {
		// @ts-expect-error there is no DELETE /
		"DELETE /": text,
		"GET /": text,
		"POST /:id/copy": text,
	},
};

const id = "Identifies the thing.";
const kind = ["How large it is.", { big: "large.", small: "not large." }] as const;
const parts = ["What it is made of.", { name: "The part's name." }] as const;

/** Never called; the compiler checks it. */
export function rejected() {
	// @ts-expect-error `parts` has no text
	describe(Thing, { id, kind });
	// @ts-expect-error there is no field `size`
	describe(Thing, { id, kind, parts, size: "Its size." });
	// @ts-expect-error a value has no text
	describe(Thing, { id, kind: ["How large it is.", { big: "large." }], parts });
	// @ts-expect-error the part's name has no text
	describe(Thing, { id, kind, parts: ["What it is made of.", {}] });
	// @ts-expect-error `note` has no text
	describe(Thing.extend({ note: z.string() }), {}, Thing);
}

test("a description belongs to a field in every shape that is made from the one it was given for", () => {
	describe(Thing, { id, kind, parts });
	const update = Thing.partial().extend({ note: z.string() });
	const texts = Object.keys(update.shape).map((name) => [name, descriptionOfField(name, update)]);
	expect(Object.fromEntries(texts)).toEqual({
		id,
		kind: "How large it is.\n\n- `big`: large.\n- `small`: not large.",
		parts: "What it is made of.",
		note: undefined,
	});
	const part = Thing.shape.parts.unwrap().element;
	expect(descriptionOfField("name", part)).toBe("The part's name.");
});

test("a shape's own description of a field counts there only", () => {
	const owner = z.object({ name: z.string() });
	const House = z.object({ owner });
	const Car = z.object({ owner: owner.nullable() });
	describe(House, { owner: "Who lives there." });
	describe(Car, { owner: "Who drives it." });
	expect(descriptionOfField("owner", House)).toBe("Who lives there.");
	expect(descriptionOfField("owner", Car)).toBe("Who drives it.");
});
