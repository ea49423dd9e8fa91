/** Where each URL was scrolled to. */
const positions = new Map<string, number>();

const url = () => location.pathname + location.search;

/** Remembers where the page is scrolled to. What changes its URL calls this, since that is no scrolling. */
export const keepPosition = () => {
	positions.set(url(), scrollY);
};

/** What people do when they want to be somewhere else on the page. */
const GESTURES = ["wheel", "touchstart", "pointerdown", "keydown"];

/**
 * Scrolls to a position, and again whenever the page's height changes, until the user does something:
 * first the page that is left is there, then an empty one, then the content.
 */
function scrollBackTo(top: number) {
	const controller = new AbortController();
	const { signal } = controller;
	const stop = () => controller.abort();
	const observer = new ResizeObserver(() => scrollTo(0, top));
	signal.addEventListener("abort", () => observer.disconnect());
	for (const gesture of [...GESTURES, "popstate"])
		addEventListener(gesture, stop, { signal, passive: true });
	observer.observe(document.body);
}

/** Makes Back and Forward lead to where a page was left, although its content is loaded after the browser looks for it. */
export function rememberScroll() {
	addEventListener("scroll", keepPosition, { passive: true });
	addEventListener("popstate", () => {
		const top = positions.get(url());
		// The browser itself leads to a part of the page that the URL names.
		if (top && !location.hash) scrollBackTo(top);
	});
}
