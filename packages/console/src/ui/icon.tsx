import type { IconNode } from "lucide";
import { createElement } from "preact";

/** A picture beside words, which say the same: screen readers pass over it. */
export const Icon = ({ of }: { of: IconNode }) => (
	<svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
		{of.map(([tag, attributes]) => createElement(tag, attributes))}
	</svg>
);
