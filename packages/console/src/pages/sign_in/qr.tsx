import { encode } from "uqr";

/** The quiet zone around a QR code, in modules (ISO/IEC 18004). */
const BORDER = 4;

export default function Qr({ value, label }: { value: string; label: string }) {
	const { data, size } = encode(value, { border: BORDER });
	const path = data
		.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : "")))
		.join("");
	return (
		<svg class="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label}>
			<path d={path} />
		</svg>
	);
}
