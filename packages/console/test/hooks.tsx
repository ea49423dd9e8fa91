/**
 * A page on which `test/console/hooks.test.ts` uses the hooks that load data. `?hook=` chooses one.
 */
import { render } from "preact";
import { useState } from "preact/hooks";
import { useLoad } from "../src/load.ts";
import { useLog } from "../src/pages/plugins/follow.ts";
import { usePolling } from "../src/polling.ts";

/** Functions and values that the test uses. */
const control = (values: object) => Object.assign(globalThis, values);

const loads: PromiseWithResolvers<string>[] = [];

/** Loads that the test ends one by one. They don't listen to their signals. */
function Loading() {
	const [input, setInput] = useState("first");
	const { data, error, isLoading, reload, refresh } = useLoad(() => {
		const load = Promise.withResolvers<string>();
		loads.push(load);
		return load.promise;
	}, [input]);
	control({
		loads,
		setInput,
		reload: () => void reload(),
		refresh,
	});
	return <output>{JSON.stringify({ data, error: error?.message, isLoading })}</output>;
}

const polls: string[] = [];

function Polling({ name, isOn }: { name: string; isOn: boolean }) {
	usePolling(() => polls.push(name), 1000, isOn);
	return null;
}

function PollingPage() {
	const [state, setState] = useState({ name: "first", isOn: true, isShown: true });
	const { isShown, ...rest } = state;
	control({ polls, change: (changes: object) => setState({ ...state, ...changes }) });
	return <output>{isShown && <Polling {...rest} />}</output>;
}

function Log() {
	const { entries, hasOlder, readOlder, setFollowing } = useLog(
		{ project: "1", id: "7" },
		{ search: undefined, type_filter: undefined, period: undefined },
	);
	control({ setFollowing, readOlder: () => void readOlder() });
	const messages = entries?.map(({ message }) => message);
	return <output>{JSON.stringify({ messages, hasOlder })}</output>;
}

const PAGES = { load: Loading, poll: PollingPage, log: Log };

const hook = new URLSearchParams(location.search).get("hook");
const [, Page] = Object.entries(PAGES).find(([name]) => name === hook) ?? [];
if (Page) render(<Page />, document.body);
