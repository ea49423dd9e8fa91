/**
 * Sample data for a new state: a few thousand events, and an hourly export of them to R2 with a
 * short backfill.
 */
import * as z from "zod";
import { HOUR_MS } from "../src/lib/time.ts";

const EVENTS = 3000;
const EVENTS_PER_REQUEST = 1000;

const NAMES = ["page viewed", "signed up", "plan changed", "report exported"];
const PAGES = ["/", "/pricing", "/docs", "/settings"];
const BROWSERS = ["Chrome", "Firefox", "Safari"];

const pick = <T>(list: T[], i: number) => list[i % list.length];

/**
 * Returns event number `i`. Only its time depends on `now`: the events are spread over the last six
 * whole hours.
 */
const event = (i: number, now: number) => ({
	uuid: `00000000-0000-4000-8000-${i.toString(16).padStart(12, "0")}`,
	event: pick(NAMES, i * 7 + (i % 3)),
	distinct_id: `visitor-${i % 97}`,
	properties: {
		$browser: pick(BROWSERS, i),
		path: pick(PAGES, i * 3 + (i % 5)),
		duration: (i * 37) % 600,
	},
	...(i % 10 === 0 && {
		person_properties: { plan: i % 3 === 0 ? "team" : "free" },
	}),
	timestamp: new Date(
		Math.floor(now / HOUR_MS) * HOUR_MS - 1 - Math.floor((i / EVENTS) * 6 * HOUR_MS),
	).toISOString(),
});

const Created = z.object({ id: z.string() });

/**
 * Sends the events, creates the export and backfills the last six hours. Returns the export's id
 * and the number of events.
 */
export async function sample(url: string, key: string) {
	const post = async (path: string, body: unknown) => {
		const response = await fetch(`${url}/api/projects/@current${path}`, {
			method: "POST",
			headers: {
				authorization: `Bearer ${key}`,
				"content-type": "application/json",
			},
			body: JSON.stringify(body),
		});
		if (!response.ok) throw new Error(await response.text());
		return response.json();
	};
	const now = Date.now();
	for (let from = 0; from < EVENTS; from += EVENTS_PER_REQUEST)
		await post(
			"/events/",
			Array.from({ length: EVENTS_PER_REQUEST }, (_, i) => event(from + i, now)),
		);
	const { id } = Created.parse(
		await post("/batch_exports/", {
			name: "Sample events, hourly to R2",
			interval: "hour",
			destination: {
				type: "R2",
				config: { prefix: "sample", compression: "gzip" },
			},
		}),
	);
	const hour = Math.floor(now / HOUR_MS) * HOUR_MS;
	await post(`/batch_exports/${id}/backfill/`, {
		start_at: new Date(hour - 6 * HOUR_MS).toISOString(),
		end_at: new Date(hour).toISOString(),
	});
	return { id, events: EVENTS };
}
