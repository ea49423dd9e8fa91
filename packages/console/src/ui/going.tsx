/** What a deletion takes along, in the dialog that asks before it. */
import type { Contents } from "tenantry-client";
import { useLoad } from "../load.ts";
import { formatNumber } from "./values.tsx";

type Item = { count: number; is_more?: boolean; words: readonly [one: string, many: string] };

type Kind = Contents["items"][number]["kind"];

const WORDS: Record<Kind, Item["words"]> = {
	project: ["project", "projects"],
	member: ["member", "members"],
	service_account: ["service account", "service accounts"],
	domain: ["domain", "domains"],
	batch_export: ["export", "exports"],
	plugin: ["plugin", "plugins"],
	plugin_config: ["plugin config", "plugin configs"],
	plugin_config_elsewhere: [
		"plugin config of another organization",
		"plugin configs of other organizations",
	],
	webhook: ["webhook", "webhooks"],
	audit_stream: ["audit stream", "audit streams"],
	event: ["event", "events"],
	person: ["person", "persons"],
};

/** The items of an object that the service has counted. */
export const itemsOf = ({ items }: Contents): Item[] =>
	items.map(({ kind, ...item }) => ({ ...item, words: WORDS[kind] }));

const LIST = new Intl.ListFormat(undefined, { type: "conjunction" });

const words = ({ count, is_more, words: [one, many] }: Item) =>
	`${is_more ? "more than " : ""}${formatNumber(count)} ${count === 1 ? one : many}`;

/**
 * Says how much goes, once it is counted.
 * @param load counts it, when the dialog opens
 * @param lead the words before the list, such as "This deletes"
 */
export function Going({
	load,
	lead = "This deletes",
	none,
}: {
	load: (signal: AbortSignal) => PromiseLike<Item[]>;
	lead?: string;
	/** The text if nothing goes. */
	none?: string;
}) {
	const { data } = useLoad(load, []);
	const items = data?.filter(({ count }) => count > 0);
	if (!items) return null;
	const text = items.length > 0 ? `${lead} ${LIST.format(items.map(words))}.` : none;
	return text ? (
		<p role="status">
			<strong>{text}</strong>
		</p>
	) : null;
}
