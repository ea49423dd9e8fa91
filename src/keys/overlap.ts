import * as z from "zod";
import { choice, explain } from "../http/fields.ts";
import { DAY_MS, HOUR_MS, iso } from "../lib/time.ts";

/* How long a value that is rolled still works beside the new one. */

const OVERLAPS_MS = { none: 0, "1h": HOUR_MS, "24h": DAY_MS };

export type Overlap = keyof typeof OVERLAPS_MS;

const VALUES = ["none", "1h", "24h"] as const satisfies Overlap[];

/** The body of a roll. The default is the handler's, because bodies have none. */
export const rollBody = (fallback: Overlap) =>
	z.object({
		overlap: explain(
			choice(VALUES).optional(),
			`How long the old one still works beside the new one. Default: \`${fallback}\`.`,
			{
				none: "it stops working immediately.",
				"1h": "for an hour.",
				"24h": "for 24 hours.",
			},
		),
	});

/** Returns when the old value stops working; null if it does now. */
export const overlapEnd = (overlap: Overlap) =>
	OVERLAPS_MS[overlap] === 0 ? null : iso(Date.now() + OVERLAPS_MS[overlap]);
