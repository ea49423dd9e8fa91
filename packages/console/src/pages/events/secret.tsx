import { Snippet } from "../../ui/values.tsx";

/** A webhook's secret, the only time that it is shown. */
export const Secret = ({ secret }: { secret: string }) => (
	<div class="secret">
		<p>
			Copy the secret now: it isn’t shown again. Your endpoint needs it to{" "}
			<a href="/docs/webhooks#verifying" target="_blank" rel="noopener">
				check who sent an event
			</a>
			.
		</p>
		<Snippet value={secret} label="Copy secret" />
	</div>
);
