/** The scroll position of each URL. */
const positions = new Map<string, number>();

const url = () => location.pathname + location.search;

/** Stores the scroll position. Call it after changing the URL, which causes no scroll event. */
export const keepPosition = () => {
	positions.set(url(), scrollY);
};

/** Events by which users scroll or click. */
const GESTURES = ["wheel", "touchstart", "pointerdown", "keydown"];

/**
 * Scrolls to a position, and again when the height of the page changes, until the user does
 * something. The height changes several times: first the old page is shown, then an empty one, then
 * the content.
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

/**
 * Restores scroll positions on Back and Forward. The browser can't, because the content is loaded
 * later.
 */
export function rememberScroll() {
	addEventListener("scroll", keepPosition, { passive: true });
	addEventListener("popstate", () => {
		const top = positions.get(url());
		// The browser itself scrolls to the part of the page after `#`.
		if (top && !location.hash) scrollBackTo(top);
	});
}
