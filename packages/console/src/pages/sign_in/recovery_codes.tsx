import { useEffect, useRef } from "preact/hooks";
import { Copy } from "../../ui/values.tsx";

const fileOf = (codes: readonly string[]) =>
	`data:text/plain;charset=utf-8,${encodeURIComponent(`Recovery codes of Tenantry (${location.host})\n\n${codes.join("\n")}\n`)}`;

/** Shows new recovery codes, which the API returns only once. */
export function RecoveryCodes({
	codes,
	action,
	onDone,
}: {
	codes: readonly string[];
	action: string;
	onDone: () => void;
}) {
	const panel = useRef<HTMLElement>(null);
	useEffect(() => panel.current?.focus(), []);
	return (
		<section class="recovery-codes" ref={panel} tabIndex={-1} aria-label="Recovery codes">
			<p>
				<strong>Save these codes now.</strong> If you lose your authenticator app, you can sign in
				with each of them once. They won't be shown again.
			</p>
			<ol>
				{codes.map((code) => (
					<li key={code}>
						<code>{code}</code>
					</li>
				))}
			</ol>
			<div class="row">
				<Copy value={codes.join("\n")} label="Copy codes" />
				<a
					class="button secondary small"
					href={fileOf(codes)}
					download="tenantry-recovery-codes.txt"
				>
					Download
				</a>
			</div>
			<div class="buttons">
				<button type="button" onClick={onDone}>
					{action}
				</button>
			</div>
		</section>
	);
}
