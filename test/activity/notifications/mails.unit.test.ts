import { expect, test } from "vitest";
import { TYPE_WORDS } from "../../../src/activity/events/words.ts";
import { compose } from "../../../src/activity/notifications/mails.ts";
import { TYPES } from "../../../src/activity/notifications/types.ts";
import { compose as asMessage } from "../../../src/outbound/mail.ts";

const window = {
	data_interval_start: "2026-01-01T12:00:00.000Z",
	data_interval_end: "2026-01-01T13:00:00.000Z",
};

const event = {
	position: 1,
	item_id: "7",
	project_id: 1,
	name: "The item",
	person: null,
	trigger: {
		...window,
		error: "It broke.",
		reason: "It broke.",
		batch_export_id: "8",
		run_id: "9",
		expires_at: "2026-02-01T12:00:00.000Z",
		missing_since: "2026-02-01T12:00:00.000Z",
		via: "invite",
	},
	created_at: "2026-01-01T13:01:00.000Z",
};

const organization = { id: "o", name: "Acme" };

test.each(TYPES)(
	"an event %s is mailed in words and leads to its page in the console",
	async (type) => {
		const app = "https://app.example.com/";
		const digest = { type, organization, events: [event], isMore: false, to: "me" };
		const { text, subject } = await asMessage("from@example.com", {
			to: "you@example.org",
			...compose(app, digest),
		});
		expect(subject).toMatch(/^1 [a-zA-Z].* in Acme$/);
		expect(text).toContain("The item – 1 January 2026 at 13:01 UTC\n");
		const links = text.match(/https:\S+/g) ?? [];
		const isUndelivered = /paused|failed|skipped/.test(type) && type.startsWith("batch_export");
		// Of the event, of the notifications and, for what isn't delivered, of the button that retries.
		expect(links).toHaveLength(isUndelivered ? 3 : 2);
		for (const link of links) expect(link).toMatch(/^https:\/\/app\.example\.com\/console\/o\//);
		expect(text).not.toMatch(/PATCH|\/api\/|\dT\d\d:|undefined|unknown/);
		expect(text).toContain(`${TYPE_WORDS[type]} (${type})`);
		const several = compose(app, { ...digest, events: [event, event], isMore: true });
		expect(several.subject.value).toMatch(/^More than 2 [a-zA-Z].* in Acme$/);
	},
);

test("the mail about a key leads its owner to their keys, and others to the events", async () => {
	const expiring = { ...event, trigger: { ...event.trigger, user_uuid: "me" } };
	const links = await Promise.all(
		["me", "you"].map(async (to) => {
			const digest = {
				type: "key.expiring" as const,
				organization,
				events: [expiring],
				isMore: false,
				to,
			};
			const mail = { to: "x@example.org", ...compose("https://app", digest) };
			return /See the key: (\S+)/.exec((await asMessage("from@example.com", mail)).text)?.[1];
		}),
	);
	expect(links).toEqual(["https://app/console/keys/7", "https://app/console/o/activity/events"]);
});
