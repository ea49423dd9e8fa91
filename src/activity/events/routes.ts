import { query } from "../../access/valid.ts";
import { download } from "../../http/download.ts";
import { feedPage } from "../../http/feed_page.ts";
import { page } from "../../http/page.ts";
import { feedOf, router } from "../../http/router.ts";
import { columns } from "./columns.ts";
import { toEvent } from "./event.ts";
import * as feed from "./queries.ts";
import { FeedEvent, filters } from "./shape.ts";

/** docs/events.md#follow-the-feed. Mounted under an organization. */
export default router().get("/", feedOf(FeedEvent), query(filters), async (c) => {
	const asked = page(c);
	const pages = () => feed.readAll(c.var.tenant, c.req.valid("query"));
	const file = await download(c, () => ({
		name: "events",
		columns,
		toJson: toEvent,
		pages: pages(),
	}));
	if (file) return file;
	const { limit } = asked;
	const part = await feed.read(c.var.tenant, { ...c.req.valid("query"), limit });
	return c.json(feedPage(asked, part.events.map(toEvent), part));
});
