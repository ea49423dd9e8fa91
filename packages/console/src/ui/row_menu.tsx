import { Ellipsis } from "lucide";
import type { ComponentChildren } from "preact";
import { useId, useRef, useState } from "preact/hooks";
import { useDismiss } from "./dismiss.ts";
import { Icon } from "./icon.tsx";

/** The actions for a row of a list, behind one button. */
export function RowMenu({ of, children }: { of: string; children: ComponentChildren }) {
	const root = useRef<HTMLDivElement>(null);
	const id = useId();
	const [isOpen, setOpen] = useState(false);
	useDismiss(root, isOpen, () => setOpen(false));
	return (
		<div class="row-menu" ref={root}>
			<button
				type="button"
				class="plain"
				aria-label={`Actions for ${of}`}
				aria-expanded={isOpen}
				aria-controls={id}
				onClick={() => setOpen(!isOpen)}
			>
				<Icon of={Ellipsis} />
			</button>
			<div id={id} hidden={!isOpen}>
				{children}
			</div>
		</div>
	);
}
