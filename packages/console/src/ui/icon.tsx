import type { IconNode } from "lucide";
import { createElement } from "preact";

/** An icon next to text with the same meaning. It is hidden from screen readers. */
export const Icon = ({ of }: { of: IconNode }) => (
	<svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
		{of.map(([tag, attributes]) => createElement(tag, attributes))}
	</svg>
);
