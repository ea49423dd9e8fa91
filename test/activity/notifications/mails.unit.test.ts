import { expect, test } from "vitest";
import { compose } from "../../../src/activity/notifications/mails.ts";
import { TYPES } from "../../../src/activity/notifications/types.ts";

const event = {
	position: 1,
	item_id: "7",
	project_id: 1,
	name: "The item",
	trigger: { error: "It broke.", reason: "It broke." },
	created_at: "2026-01-01T00:00:00.000Z",
};

test.each(TYPES)("an event %s is mailed in words and with a link to its item", (type) => {
	const organization = { id: "o", name: "Acme" };
	const app = "https://app.example.com/";
	const { subject, paragraphs } = compose(app, {
		type,
		organization,
		events: [event],
		isMore: false,
	});
	expect(subject.value).toMatch(/^1 [a-zA-Z].* in Acme$/);
	const text = paragraphs.map(({ value }) => value).join("\n\n");
	expect(text).toContain("2026-01-01T00:00:00.000Z – The item: ");
	expect(text).toContain("\nhttps://app.example.com/api/");
	expect(text).toContain(`because Acme has notifications for ${type}.`);
	const several = compose(app, { type, organization, events: [event, event], isMore: true });
	expect(several.subject.value).toMatch(/^More than 2 [a-zA-Z].* in Acme$/);
});
